"""Kernels with a symptom (lessons 03, 07, 10): the lines asked for, symptoms, and what mends them.

A line's number is found in the lesson's text, so that an edit there cannot leave it behind.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.lessons.percent import blocks
from course.engine.faults import KernelFault, Outcome
from course.exercises import lesson
from course.notebook.any_order import in_any_order
from course.spec.exercise import NumberExercise
from course.spec.formula import Number, evaluate

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
HEADS = {
    "numba": "from numba import cuda, float32\n",
    "triton": "import triton\nimport triton.language as tl\n",
}
INF = torch.inf


@dataclass(frozen=True)
class Bug:
    """A broken kernel of a lesson.

    Attributes:
        lines: by question, the text at which the line asked for begins, and no other one.
        mend: what goes and what comes in its place.
    """

    lesson: str
    exercise: str
    kernel: str
    lines: dict[str, str]
    mend: tuple[str, str]


_P_READ = "        out[row, start + t] = tile[63 - t]"
BUGS = {
    bug.kernel: bug
    for bug in (
        Bug(
            "03_shared_memory",
            "debug_threads",
            "turn_slices",
            {"P_early": "tile[t] = a[", "P_disturbed": "out[row, start + t] = tile["},
            (_P_READ, f"{_P_READ}\n        cuda.syncthreads()"),
        ),
        Bug(
            "03_shared_memory",
            "debug_threads",
            "sum_all",
            {"Q_line": "cuda.atomic.add("},
            ("(total, 0, part)", "(total, cuda.grid(1), part)"),
        ),
        Bug(
            "03_shared_memory",
            "debug_threads",
            "turn_matrix",
            {"R_line": "tile[ty, tx] = a["},
            ("a[row * M + column]", "a[row * N + column]"),
        ),
        Bug(
            "07_softmax",
            "debug_softmax",
            "softmax_p",
            {"P_line": "total = total * tl.exp("},
            ("tl.exp(top - new_top)", "tl.exp(top - shift)"),
        ),
        Bug(
            "07_softmax",
            "debug_softmax",
            "softmax_q",
            {
                "Q_line": "x = tl.load(x_ptr + row + columns, mask=columns < N, other=0.0)\n"
                "        total += "
            },
            ("other=0.0)\n        total", 'other=-float("inf"))\n        total'),
        ),
        Bug(
            "07_softmax",
            "debug_softmax",
            "softmax_r",
            {"R_line": "total = total + tl.sum("},
            ("total = total + ", "total = total * tl.exp(top - new_top) + "),
        ),
        Bug(
            "10_attention",
            "debug_attention",
            "attend_p",
            {"P_line": "far = gap * gap"},
            ("far = gap * gap", "far = gap.to(tl.float32) * gap"),
        ),
        Bug(
            "10_attention",
            "debug_attention",
            "attend_q",
            {"Q_line": "acc = (acc * rescale"},
            ("tl.float16", "tl.float32"),
        ),
        Bug(
            "10_attention",
            "debug_attention",
            "attend_r",
            {"R_line": "group = head % G"},
            ("head % G", "head // (tl.num_programs(0) // G)"),
        ),
    )
}


def cell(bug: Bug) -> str:
    """The kernel's cell: nothing but the kernel, so that its lines count from the decorator."""
    text = (SOLUTIONS / f"{bug.lesson}.py").read_text(encoding="utf-8")
    [found] = [b.body for b in blocks(text)[1] if f"\ndef {bug.kernel}(" in b.body]
    assert found.startswith("@")
    assert found.count("\ndef ") == 1
    return found


@pytest.fixture
def kernels(tmp_path: Path) -> Callable[[str], tuple[Any, Any]]:
    """(as the lesson shows it, mended) of a kernel's name."""

    def made(name: str) -> tuple[Any, Any]:
        bug = BUGS[name]
        broken = cell(bug)
        mended = broken.replace(*bug.mend)
        assert mended != broken
        return tuple(_imported(tmp_path, name, n, t) for n, t in enumerate((broken, mended)))

    return made


def _imported(folder: Path, kernel: str, number: int, text: str) -> Any:
    path = folder / f"{kernel}_{number}.py"
    path.write_text(HEADS["numba" if "cuda.jit" in text else "triton"] + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)


def exercise(name: str) -> NumberExercise:
    stem = {"debug_threads": "shared_memory", "debug_softmax": "softmax"}.get(name, "attention")
    found = lesson(stem)[name]
    assert isinstance(found, NumberExercise)
    return found


def said(name: str, question: str, **names: Number) -> Number:
    """An answer of the spec, where the names have these values."""
    return evaluate(exercise(name).questions[question].answer, names)


# ------------------------------------------------------------------ lines


@pytest.mark.parametrize("name", BUGS)
def test_the_line_asked_for_stands_where_the_spec_says(name: str) -> None:
    bug = BUGS[name]
    text = cell(bug)
    for question, start in bug.lines.items():
        assert text.count(start) == 1
        assert said(bug.exercise, question) == text[: text.index(start)].count("\n") + 1


@pytest.mark.parametrize("name", ["debug_threads", "debug_softmax", "debug_attention"])
def test_a_wrong_lines_sentence_is_of_a_line_that_there_is(name: str) -> None:
    asked = {question: bug for bug in BUGS.values() for question in bug.lines
             if bug.exercise == name}  # fmt: skip
    lines = {q for q in exercise(name).questions if q.endswith(("_line", "_early", "_disturbed"))}
    assert lines == asked.keys()
    for question, bug in asked.items():
        slips = exercise(name).questions[question].slips
        assert all(3 <= int(line) <= cell(bug).count("\n") + 1 for line in slips)
        for line, words in slips.items():
            named = re.match(r"Line (\d+)", words)
            assert named is None or named[1] == line


# ------------------------------------------------------------------ lesson 03


def slices_wrong(kernel: Any, columns: int, seeds: int = 8) -> int:
    """In how many orders something comes out wrong."""
    a = np.arange(2 * columns, dtype=np.float32).reshape(2, columns)
    expected = a.reshape(2, -1, 64)[:, :, ::-1].reshape(2, columns)
    wrong = 0
    for seed in range(seeds):
        out = np.zeros_like(a)
        in_any_order(kernel, seed)[2, 64](a, out)
        wrong += not np.array_equal(out, expected)
    return wrong


def test_slices_race_from_the_second_on_and_not_with_a_second_barrier(kernels):
    broken, mended = kernels("turn_slices")
    least = int(said("debug_threads", "P_least", SLICE=64))
    assert slices_wrong(broken, least - 64) == 0
    assert slices_wrong(broken, least) > 6
    assert slices_wrong(mended, least) == slices_wrong(mended, 2 * least) == 0


def test_the_engine_names_that_race_by_the_two_lines(kernels):
    broken, mended = kernels("turn_slices")
    a, out = np.zeros((1, 128), np.float32), np.zeros((1, 128), np.float32)
    mended[1, 64](a, out)
    broken[1, 64](a[:, :64].copy(), out)
    with pytest.raises(KernelFault) as caught:
        broken[1, 64](a, out)
    assert caught.value.outcome is Outcome.RACE
    above = HEADS["numba"].count("\n")
    assert caught.value.line == said("debug_threads", "P_early") + above
    assert f"on line {said('debug_threads', 'P_disturbed') + above}" in str(caught.value)


def test_sums_of_two_runs_differ_and_by_no_more_than_rounding(kernels):
    broken, mended = kernels("sum_all")
    a = np.random.default_rng(3).random(4096, dtype=np.float32)
    exact = a.reshape(-1, 256)
    found, parts = [], []
    for seed in range(6):
        total, each = np.zeros(1, np.float32), np.zeros(256, np.float32)
        in_any_order(broken, seed)[2, 128](a, total)
        in_any_order(mended, seed)[2, 128](a, each)
        found.append(float(total[0]))
        parts.append(each)
    of_parts = parts[0].astype(np.float64).sum()
    assert of_parts == pytest.approx(exact.astype(np.float64).sum(), rel=1e-6)
    assert len(set(found)) > 1
    most = said("debug_threads", "Q_most", THREADS=256)
    assert max(abs(f - of_parts) / of_parts for f in found) < most
    assert all(np.array_equal(parts[0], each) for each in parts)


@pytest.mark.parametrize(("M", "N"), [(2, 3), (9, 50), (40, 64)])
def test_of_a_wide_matrix_the_first_row_arrives(kernels, M: int, N: int) -> None:
    right = []
    for kernel in kernels("turn_matrix"):
        a = np.arange(M * N, dtype=np.float32)
        out = np.zeros_like(a)
        kernel[(2, 2), (32, 32)](a, out, M, N)
        right.append(np.count_nonzero(out.reshape(N, M) == a.reshape(M, N).T))
    assert right == [said("debug_threads", "R_right", M=M, N=N), M * N]


def test_a_square_matrix_hides_it(kernels):
    broken, _ = kernels("turn_matrix")
    a = np.arange(40 * 40, dtype=np.float32)
    out = np.zeros_like(a)
    broken[(2, 2), (32, 32)](a, out, 40, 40)
    np.testing.assert_array_equal(out.reshape(40, 40), a.reshape(40, 40).T)


# ------------------------------------------------------------------ lesson 07


def shares(kernel: Any, x: Any, block: int) -> Any:
    out = torch.full_like(x, torch.nan)
    kernel[(x.shape[0],)](x, out, x.shape[1], block)
    return out


@pytest.mark.parametrize(("N", "BLOCK"), [(10, 4), (64, 16), (37, 16)])
@pytest.mark.slow
def test_rows_that_begin_with_a_tile_of_padding_add_up_to_their_rest(kernels, N, BLOCK):
    broken, mended = kernels("softmax_p")
    x = torch.zeros(N + 1, N)
    for masked in range(N + 1):
        x[masked, :masked] = -INF
    expected = [said("debug_softmax", "P_sum", N=N, BLOCK=BLOCK, MASKED=m) for m in range(N)]
    sums = shares(broken, x, BLOCK).sum(1)
    torch.testing.assert_close(sums, torch.tensor([*expected, 0.0]), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(shares(mended, x, BLOCK).sum(1), torch.tensor([1.0] * N + [0.0]))


@pytest.mark.parametrize(("N", "BLOCK"), [(10, 4), (1000, 256), (64, 16)])
def test_places_past_the_end_take_a_share(kernels, N, BLOCK):
    broken, mended = kernels("softmax_q")
    x = torch.zeros(1, N)
    assert shares(broken, x, BLOCK).sum().item() == pytest.approx(
        said("debug_softmax", "Q_sum", N=N, BLOCK=BLOCK), rel=1e-5
    )
    assert shares(mended, x, BLOCK).sum().item() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize(("N", "BLOCK"), [(10, 4), (569, 512), (64, 16)])
def test_rows_are_wrong_whose_largest_is_behind_the_first_tile(kernels, N, BLOCK):
    broken, mended = kernels("softmax_r")
    x = torch.randn(1, N, generator=torch.Generator().manual_seed(0)).repeat(N, 1)
    x += 8 * torch.eye(N)  # each place is the largest of one row
    right = torch.softmax(x, 1)
    wrong = ~torch.isclose(shares(broken, x, BLOCK), right, rtol=1e-4).all(1)
    assert wrong.float().mean().item() == pytest.approx(
        said("debug_softmax", "R_share", N=N, BLOCK=BLOCK)
    )
    torch.testing.assert_close(shares(mended, x, BLOCK), right)


# ------------------------------------------------------------------ lesson 10


def far_keys(kernel: Any, N: int) -> float:
    """How far off the output is, of one query behind N keys."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(*shape, generator=generator) for shape in ((16,), (N, 16), (N, 16)))
    out = torch.empty(16)
    kernel[(1,)](q, k, v, out, N, 16, 1024)
    far = torch.arange(N, 0, -1).double() ** 2 * 1e-4
    right = torch.softmax((k @ q).double() / 4 - far, 0) @ v.double()
    return (out - right).abs().max().item()


def test_a_square_of_46_341_is_no_int32(kernels):
    broken, mended = kernels("attend_p")
    first = int(said("debug_attention", "P_row", STRIDE=46_341))  # as the square: row is STRIDE
    assert far_keys(broken, first - 1) < 1e-5
    assert far_keys(broken, first) > 0.1
    assert far_keys(mended, first) < 1e-5


@pytest.mark.parametrize("stride", [46_341, 65_536, 100_000, 4096])
def test_the_first_row_beyond_int32(stride):
    row = int(said("debug_attention", "P_row", STRIDE=stride))
    assert (row - 1) * stride <= np.iinfo(np.int32).max < row * stride


@pytest.mark.parametrize(("N", "BC"), [(4096, 4), (9000, 4), (512, 16)])
@pytest.mark.slow
def test_a_mean_of_ones_stops_growing_in_float16(kernels, N, BC):
    means = []
    for kernel in kernels("attend_q"):
        q, k = torch.zeros(16, dtype=torch.float16), torch.zeros(N, 16, dtype=torch.float16)
        out = torch.empty(16)
        kernel[(1,)](q, k, torch.ones_like(k), out, N, 16, BC)
        means.append(out[0].item())
    assert means == pytest.approx([said("debug_attention", "Q_mean", N=N, BC=BC), 1], rel=1e-3)


@pytest.mark.parametrize(("H", "G", "wrong"), [(8, 1, 0), (8, 8, 0), (8, 2, 4), (12, 3, 6)])
@pytest.mark.slow
def test_heads_that_share_keys_get_those_of_others(kernels, H, G, wrong):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(*shape, generator=generator) for shape in ((H, 16), (G, 20, 16), (G, 20, 16))
    )
    own = [int(said("debug_attention", "R_group", H=H, G=G, HEAD=head)) for head in range(H)]
    right = torch.softmax((k[own] @ q[:, :, None]).squeeze(2) / 4, 1)[:, None] @ v[own]
    missed = []
    for kernel in kernels("attend_r"):
        out = torch.empty(H, 16)
        kernel[(H,)](q, k, v, out, 20, G, 16, 16)
        missed.append(int((~torch.isclose(out, right.squeeze(1), atol=1e-5).all(1)).sum()))
    assert missed == [wrong, 0]
