"""Right arrays alone are no right answer: the counts have to hold what led to them."""

import numpy as np
import pytest

from course import exercises as ex
from course.check.check import check_source
from course.engine.faults import Outcome
from course.engine.job import Ran
from course.engine.runner import Engine
from course.engine.traffic import Traffic, merged
from course.spec.exercise import Array, KernelExercise, Role, case
from course.spec.launching import Launcher
from course.tests.kernels_of_learners import RIGHT, add, honest, load, runner, store


def sites_without(array, share=0.0):
    """What an honest kernel counts, but for one array."""
    return lambda size: [
        site if site.array != array else one(array, max(1, int(share * site.sectors)))
        for site, one in zip(honest(size), (load, load, store), strict=True)
        if site.array != array or share
    ]


@pytest.mark.parametrize(
    ("sites", "expected"),
    [
        (lambda size: [], (Outcome.WRONG_ANSWER, "unread", "0 B of a were read")),
        (sites_without("a"), (Outcome.WRONG_ANSWER, "unread", "0 B of a were read")),
        (sites_without("b", 0.9), (Outcome.WRONG_ANSWER, "unread", "of b were read")),
        (sites_without("c"), (Outcome.NOT_MEASURED, "unwritten", "0 B of c were written")),
        (sites_without("c", 0.5), (Outcome.NOT_MEASURED, "unwritten", "of c were written")),
    ],
)
def test_a_right_result_that_was_not_counted_earns_nothing(sites, expected):
    outcome, message_id, words = expected
    verdict = check_source(ex.vector_add, RIGHT, runner=runner(add, sites))
    assert (verdict.outcome, verdict.message_id) == (outcome, message_id)
    assert words in verdict.message
    assert verdict.credit == 0.0


def test_a_sector_that_is_asked_for_twice_covers_no_more_than_once():
    def half_twice(size):
        sectors = -(-size // 8)
        return [load("a", -(-sectors // 2)) for _ in range(2)] + honest(size)[1:]

    verdict = check_source(ex.vector_add, RIGHT, runner=runner(add, half_twice))
    assert verdict.message_id == "unread"


def test_lanes_that_took_no_bytes_cover_nothing():
    def idle(size):
        return [*honest(size)[:2], store("c", -(-size // 8), used=0)]

    verdict = check_source(ex.vector_add, RIGHT, runner=runner(add, idle))
    assert verdict.message_id == "unwritten"


def test_a_wrong_answer_is_called_wrong_whatever_was_counted():
    def subtract(a, b, c):
        c[:] = a - b

    verdict = check_source(ex.vector_add, RIGHT, runner=runner(subtract, lambda size: []))
    assert verdict.outcome is Outcome.WRONG_ANSWER


def test_a_wrong_answer_in_a_later_case_comes_first():
    """With one element an average needs no weight: that case alone would look miscounted."""

    def forgets_b(a, b, c):
        c[:] = a + b if a.size == 1 else a

    verdict = check_source(ex.vector_add, RIGHT, runner=runner(forgets_b, sites_without("b")))
    assert verdict.outcome is Outcome.WRONG_ANSWER


def test_where_nothing_changes_nothing_need_be_written():
    """Adding into what is there leaves most bins as they are: only those that changed count."""
    source = (
        "from numba import cuda\n\n\n@cuda.jit\ndef histogram(x, counts):\n"
        "    i = cuda.grid(1)\n"
        "    while i < x.shape[0]:\n"
        "        cuda.atomic.add(counts, x[i], 1)\n"
        "        i += cuda.gridsize(1)\n"
    )
    outcome = check_source(ex.histogram, source).outcome
    assert outcome in (Outcome.PASS, Outcome.TOO_MUCH_TRAFFIC)


def test_the_footprint_of_several_launches_is_that_of_all_their_sectors():
    marks = np.zeros(8, np.bool_)
    marks[:3] = True
    first = Traffic(touched={("x", "load"): {64: marks}}, launches=1)
    second = Traffic(touched={("x", "load"): {64: ~marks, 4096: marks}}, launches=1)
    assert merged([first, second, first]).footprints == {("x", "load"): (8 + 3) * 32}


HALVES = """
import torch
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, M, N, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    row = 2 * tl.program_id(0) + FIRST
    at = tl.arange(0, BLOCK)
    if row < M:
        x = tl.load(x_ptr + row * N + at, mask=at < N, other=0.0)
        tl.store(out_ptr + row * N + at, x + x, mask=at < N)


def NAME(x):
    M, N = x.shape
    out = torch.empty_like(x)
    for first in range(2):
        total[(triton.cdiv(M, 2),)](x, out, M, N, FIRST=first, BLOCK=triton.next_power_of_2(N))
    return out
"""


def doubled(name, reference):
    return KernelExercise(
        name=name, title="t", task="t", points=1, minutes=1, difficulty=1, hints=("h",),
        parameters=(Array("x", "M, N"), Array("out", "M, N", Role.OUT)),
        reference=reference,
        cases=(case(M=9, N=40), case(M=64, N=128)),
        launch=Launcher(),
    )  # fmt: skip


def test_two_launches_that_do_a_half_each_do_all():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    exercise = doubled("doubled", lambda x: {"out": 2 * x})
    engine = Engine(compiles=False)
    source = HALVES.replace("NAME", "doubled")
    assert check_source(exercise, source, runner=engine).outcome is Outcome.PASS

    def forged(run):
        """The engine's arrays, and the counts of the first half only."""
        ran = engine(run)
        return Ran(ran.arrays, Traffic(sites=ran.traffic.sites, footprints={
            pair: amount // 2 for pair, amount in ran.traffic.footprints.items()
        }))  # fmt: skip

    assert check_source(exercise, source, runner=forged).message_id == "unread"


def test_what_torch_zeros_left_is_not_counted_and_the_learner_hears_so():
    pytest.importorskip("triton", reason="Triton has no wheel for this system")
    upper = HALVES.replace("NAME", "upper").replace("torch.empty_like(x)", "torch.zeros_like(x)")
    upper = upper.replace("x + x, mask=at < N", "x + x, mask=(at < N) & (at >= row)")
    exercise = doubled("upper", lambda x: {"out": np.triu(2 * x)})
    verdict = check_source(exercise, upper, runner=Engine(compiles=False))
    assert verdict.message_id == "unwritten"
    assert "out were written" in verdict.message
    assert "`torch.zeros`" in verdict.next_steps[0]


FROM_EACH_THREAD_ON = """
from numba import cuda, float32


@cuda.jit
def prefix_sum(a, out):
    s = cuda.shared.array(256, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    if i < a.size:
        for k in range(t, 256):
            cuda.atomic.add(s, k, a[i])
    cuda.syncthreads()
    if i < a.size:
        out[i] = s[t]
"""


def test_lanes_beyond_the_first_turn_of_a_loop_are_counted_where_they_read():
    """A load that a loop repeats is made once, by all lanes: also by those that begin later."""
    ran = []

    def run(launch):
        ran.append(Engine()(launch))
        return ran[-1]

    exercise = ex.lesson("shared_memory")["prefix_sum"]
    verdict = check_source(exercise, FROM_EACH_THREAD_ON, (case(N=561),), runner=run)
    assert verdict.outcome is Outcome.PASS
    assert ran[0].traffic.footprints["a", "load"] == 71 * 32
    assert ran[0].traffic.sectors("a", "load") == 71
