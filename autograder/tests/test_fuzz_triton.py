"""Random Triton cells, launchers, and corrupted replies of a runner: one verdict each, in time."""

from __future__ import annotations

import json
import string
import time
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from autograder.judge.judge import faulted, result
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.exploit import FOLDER, exploits
from autograder.sandbox.doubt import WireError
from autograder.sandbox.remote import sandboxed
from autograder.sandbox.wire import (
    EngineFailed,
    decoded_result,
    encoded_failure,
    encoded_fault,
    encoded_ran,
)
from autograder.tests.test_fuzz import BROKEN, LONGEST_SECONDS, effort, indented, values
from course.check.check import check_source
from course.engine.faults import KernelFault, Outcome
from course.engine.job import Output, Ran, Run
from course.engine.runner import Engine
from course.engine.traffic import Site, Traffic
from course.spec.exercise import Case, KernelExercise, case
from course.words.triton import TILE

_CELLS = {one.name: one.cell or "" for one in exploits(FOLDER / "triton")}
KERNEL, LAUNCHER = _CELLS["control_honest.right"], _CELLS["control_honest.right_launcher"]
_BY_NAME = {e.name: e for s in ("hello_triton", "attention_backward") for e in lesson_exercises(s)}
ADD, DELTA = _BY_NAME["triton_add"], _BY_NAME["flash_delta"]
SMALL = {"triton_add": (case(N=1), case(N=700)), "flash_delta": (case(H=2, N=3, D=16),)}


def one_verdict(exercise: Any, source: str, compiles: bool = False) -> None:
    """A verdict with a reason, in time, and never that the check itself failed."""
    assert isinstance(exercise, KernelExercise)
    cases: tuple[Case, ...] = SMALL[exercise.name]
    start = time.perf_counter()
    verdict = check_source(exercise, source, cases, 3, Engine(compiles=compiles))
    if verdict.outcome in BROKEN:  # what the engine does not run it says itself
        assert verdict.message_id == "tile_unsupported", verdict.internal_error
    assert 0 <= verdict.credit <= 1
    row = result(exercise, verdict)
    assert len(row["message"]) > 10
    json.dumps(row).encode()
    assert time.perf_counter() - start < LONGEST_SECONDS


# ------------------------------------------------------------------ kernels

OPERATORS = ["+", "-", "*", "/", "//", "%", "<<", "&", "|", "^", "<", "==", ">=", "and", "or", "@"]
blocks = st.recursive(
    st.one_of(
        st.sampled_from(["x", "y", "offsets", "inside", "n", "k", "N", "BLOCK", "SCALE", "PAIR"]),
        st.integers(-3, 2**40).map(lambda n: f"({n})"),
        st.floats(width=32).map(lambda n: f"({n!r})"),
        st.sampled_from([
            "tl.program_id(0)", "tl.num_programs(0)", "tl.arange(0, BLOCK)", "tl.arange(0, 8)",
            "tl.arange(0, 7)", "tl.zeros((BLOCK,), tl.float32)", "tl.full((4, 4), 1, tl.int8)",
            "tl.load(x_ptr)", "tl.load(x_ptr + offsets, mask=inside, other=0.0)", "x_ptr",
            "tl.load(y_ptr + offsets, inside)", "None", "True", "'x'", "(1, 2)", "tl.float16",
            "x.dtype", "x.shape", "x[:, None]", "x[None, :]",
            "half(x)", "tl.rand(3, offsets)", "tl.atomic_add(out_ptr, 1)", "float('inf')",
        ]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(st.sampled_from(["-", "~", "not "]), inner).map(lambda t: f"({t[0]}{t[1]})"),
        st.tuples(
            st.sampled_from([
                "tl.sum", "tl.max", "tl.exp", "tl.sqrt", "tl.sort", "tl.trans", "tl.ravel", "half",
                "tl.abs", "tl.cumsum", "tl.flip", "tl.load", "int", "float", "len", "tl.sigmoid",
            ]),
            inner,
        ).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(
            st.sampled_from([
                "tl.maximum", "tl.join", "tl.dot", "tl.cat", "tl.expand_dims", "tl.reshape",
                "tl.broadcast_to", "tl.cdiv", "tl.sum", "tl.split", "tl.permute", "tl.gather",
            ]),
            inner,
            inner,
        ).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"tl.where({', '.join(t)})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, st.sampled_from(["float16", "int32", "bfloat16", "int1", "uint8"])).map(
            lambda t: f"{t[0]}.to(tl.{t[1]})"
        ),
        st.tuples(inner, st.sampled_from(["T", "dtype", "shape", "value"])).map(".".join),
    ),
    max_leaves=5,
)  # fmt: skip
lines = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(["x", "y", "n", "offsets", "inside"]), blocks).map(" = ".join),
        st.tuples(st.sampled_from(["x", "n"]), blocks).map(" += ".join),
        blocks.map(lambda e: f"tl.store(out_ptr + offsets, {e}, mask=inside)"),
        blocks.map(lambda e: f"tl.store(out_ptr + {e}, x)"),
        blocks.map(lambda e: f"tl.atomic_max(out_ptr + offsets, {e}, mask=inside)"),
        blocks.map(lambda e: f"x = tl.load(x_ptr + {e}, mask=inside)"),
        blocks.map(lambda e: f"n: tl.constexpr = {e}"),
        blocks,
        st.sampled_from(["pass", "return", "break", "x, y = y, x", "tl.debug_barrier()",
                         "tl.device_print('x', x)", "import os", "x = f'{x}'", "del x",
                         "x = x.handle", "a, b = tl.split(x)"]),
    ),
    lambda inner: st.tuples(
        st.one_of(
            blocks.map(lambda e: f"if {e}:"),
            blocks.map(lambda e: f"while {e}:"),
            blocks.map(lambda e: f"for k in range({e}):"),
            st.sampled_from(["for k in range(3):", "for k in tl.static_range(3):", "if n < 3:",
                             "for k in range(0, N, BLOCK):", "while n < 3:", "if x > 0:"]),
        ),
        st.lists(inner, min_size=1, max_size=3),
    ).map(lambda t: f"{t[0]}\n{indented(t[1])}"),
    max_leaves=5,
)  # fmt: skip
_START = [
    "offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "inside = offsets < N", "n = 0",
    "x = tl.load(x_ptr + offsets, mask=inside)", "y = tl.load(y_ptr + offsets, mask=inside)",
]  # fmt: skip


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """A cell that looks like a kernel's: constants, a helper, the kernel."""
    helper = draw(st.sampled_from(["return x / 2", "return tl.load(x)", "pass", "return half(x)"]))
    tops = draw(st.sampled_from(["PAIR = (1, 2)", "PAIR = 3", "PAIR: tl.constexpr = 'ab'", ""]))
    body = [*_START, *draw(st.lists(lines, min_size=1, max_size=4)),
            "tl.store(out_ptr + offsets, x + y, mask=inside)"]  # fmt: skip
    return "\n".join([
        "import triton\nimport triton.language as tl\nBLOCK = 256\nSCALE = tl.constexpr(2.0)",
        tops,
        f"@triton.jit\ndef half(x):\n    {helper}",
        "@triton.jit\ndef triton_add(x_ptr, y_ptr, out_ptr, N, BLOCK: tl.constexpr):",
        indented(body),
    ]) + "\n"  # fmt: skip


def scratched(text: str) -> st.SearchStrategy[str]:
    """A right cell with some characters changed, cut out or repeated."""

    @st.composite
    def make(draw: st.DrawFn) -> str:
        changed = text
        for _ in range(draw(st.integers(1, 4))):
            place, size = draw(st.integers(0, len(changed))), draw(st.integers(0, 8))
            more = draw(st.one_of(
                st.text(string.printable + "é\ud800\0", max_size=3),
                st.sampled_from(["N", "None", "0", "x", "tl.", "(", "\n", "    ", "[0]", " * 2"]),
            ))  # fmt: skip
            changed = changed[:place] + more + changed[place + size :]
        return changed

    return make()


# ------------------------------------------------------------------ launchers

hosts = st.recursive(
    st.one_of(
        st.sampled_from(["out", "dout", "delta", "H", "N", "D", "k", "ROWS", "out.shape", "torch"]),
        st.integers(-3, 2**40).map(lambda n: f"({n})"),
        st.sampled_from([
            "out.device", "out.dtype", "torch.float32", "None", "1.5", "'x'", "(1, 2)", "[1]",
            "out.stride(0)", "out.stride()", "out.T", "out[0]", "out[:, 1:]", "out.view(-1)",
            "triton.cdiv(N, ROWS)", "torch.empty((H, N), device=out.device)", "row_dots",
            "torch.zeros(3, device=out.device)", "out.numel()", "f'{out}'", "out.sum()",
            "lambda meta: (1,)", "range(3)", "math.inf", "out.__class__", "float('nan')",
        ]),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([*OPERATORS, "**", "in", "is"]), inner).map(
            lambda t: f"({' '.join(t)})"
        ),
        st.tuples(st.sampled_from(["len", "int", "max", "tuple", "list", "abs", "print"]), inner)
        .map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["triton.cdiv", "min", "torch.empty", "range"]), inner, inner)
        .map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]}, {t[1]})"),
        st.tuples(inner, st.sampled_from(["reshape", "permute", "view", "size"]), inner)
        .map(lambda t: f"{t[0]}.{t[1]}({t[2]})"),
    ),
    max_leaves=4,
)  # fmt: skip
host_lines = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from(["delta", "H", "N", "D", "k", "out"]), hosts).map(" = ".join),
        st.tuples(st.sampled_from(["H", "delta"]), hosts).map(" += ".join),
        hosts.map(lambda e: f"row_dots[{e}](out, dout, delta, H * N, D=D, ROWS=ROWS)"),
        hosts.map(lambda e: f"row_dots[(1,)](out, dout, delta, {e}, D=D, ROWS=ROWS)"),
        hosts.map(lambda e: f"row_dots[(1,)]({e}, dout, delta, 1, D, ROWS)"),
        hosts.map(lambda e: f"row_dots[(1,)](out, dout, delta, 1, D=D, ROWS={e}, num_warps=2)"),
        hosts.map(lambda e: f"return {e}"),
        hosts.map(lambda e: f"assert {e}, 'no'"),
        hosts.map(lambda e: f"delta[0] = {e}"),
        hosts,
        st.sampled_from(["pass", "raise ValueError('x')", "import os", "def g():\n    return 1",
                         "H, N = N, H", "break", "global k"]),
    ),
    lambda inner: st.tuples(
        st.one_of(
            hosts.map(lambda e: f"if {e}:"),
            hosts.map(lambda e: f"for k in {e}:"),
            st.sampled_from(["for k in range(3):", "while k < 3:", "if H > 1:", "if k:"]),
        ),
        st.lists(inner, min_size=1, max_size=3),
    ).map(lambda t: f"{t[0]}\n{indented(t[1])}"),
    max_leaves=5,
)  # fmt: skip


@st.composite
def launchers(draw: st.DrawFn) -> str:
    """A right kernel, and a launcher with some lines of its own."""
    head, _, body = LAUNCHER.partition("def flash_delta(out, dout):\n")
    own = [line.strip() for line in body.splitlines() if line.strip()]
    for line in draw(st.lists(host_lines, min_size=1, max_size=3)):
        own.insert(draw(st.integers(1, len(own))), line)
    return f"{head}def flash_delta(out, dout):\n{indented(['k = 0', *own])}\n"


# ------------------------------------------------------------------ a runner's replies

_X = np.arange(6, dtype=np.float32)
RUN = Run("cell", "k", {"x": _X, "n": np.int32(3)}, (1,), (), 0, 10, dialect="triton",
          outputs=(Output("out", (2, 2), "float16"), Output("good", (3,), "bool")))  # fmt: skip
_TRAFFIC = Traffic(
    sites=[Site("x", "load", 3, 4, None, 8, 24, 32, False)],
    footprints={("x", "load"): 32},
    bank_conflict_sites={("x", 3): 1},
    divergent_sites={3: 1},
    registers=40,
)
_ARRAYS = {"x": _X, "out": np.zeros((2, 2), np.float16), "good": np.zeros(3, np.bool_)}
REPLIES = [
    encoded_ran(Ran(_ARRAYS, _TRAFFIC)),
    encoded_fault(KernelFault(Outcome.RACE, "tile_race", 3, array="x", index=(1, 2))),
    encoded_fault(KernelFault(Outcome.WRONG_ANSWER, "launcher_result", None, name="x", got="y")),
    encoded_failure(ValueError("no")),
    encoded_failure(MemoryError()),
]


@st.composite
def replies(draw: st.DrawFn) -> bytes:
    """A reply with some of its bytes or of its values changed."""
    data = bytearray(draw(st.sampled_from(REPLIES)))
    if draw(st.booleans()):
        length = int.from_bytes(data[:4], "big")
        head = msgspec.msgpack.decode(data[4 : 4 + length])
        for _ in range(draw(st.integers(1, 3))):
            inner = [part for part in head.values() if isinstance(part, dict)]
            place = draw(st.sampled_from([head, *inner]))
            name = draw(st.sampled_from([*place, "fault", "message_id", "sites", "line", "more"]))
            place[name] = draw(st.one_of(values, st.sampled_from([o.value for o in Outcome]),
                                         st.sampled_from(sorted(TILE))))  # fmt: skip
        try:
            text = msgspec.msgpack.encode(head)
        except (UnicodeEncodeError, OverflowError):  # half a character, a number of 65 bits
            reject()
        return len(text).to_bytes(4, "big") + text + bytes(data[4 + length :])
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        kind = draw(st.sampled_from(["flip", "cut", "insert", "end", "length"]))
        if kind == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[place : place + draw(st.integers(0, 20))]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=12))
        elif kind == "end":
            del data[place:]
        else:
            data[:4] = draw(st.binary(min_size=4, max_size=4))
    return bytes(data)


class _Answering:
    """A connection to a runner that answers this, and has ended so."""

    def __init__(self, answer: bytes, end: object) -> None:
        self.answer = answer, end

    def prepare(self, dialect: str) -> None:
        pass

    def ask(self, *_: Any) -> tuple[bytes, object]:
        return self.answer

    def done(self) -> None:
        pass


def one_end(data: bytes) -> None:
    """What a reply says is taken whole or refused: never half, never another exception."""
    try:
        ran = decoded_result(data, RUN)
    except (KernelFault, MemoryError, EngineFailed, WireError):
        pass
    else:
        assert ran.arrays.keys() == _ARRAYS.keys()
        assert [a.shape for a in ran.arrays.values()] == [a.shape for a in _ARRAYS.values()]


def one_verdict_by_a_reply(data: bytes, end: object) -> None:
    """A whole check whose launches are answered so: one verdict, and no points."""
    check = sandboxed(_Answering(data, end), 60.0, 2**30)  # type: ignore[arg-type]  # says so
    try:
        verdict = check(DELTA, LAUNCHER, SMALL["flash_delta"], 3)
    except Fault as fault:
        verdict = faulted(DELTA, fault)
    assert verdict.credit == 0
    row = result(DELTA, verdict)
    assert len(row["message"]) > 10
    json.dumps(row).encode()


ends = st.one_of(st.just(0), st.sampled_from(["late", "over", "x", -9, -11, 1, 137, None, 2.5, {}]))


@effort(15)
@given(kernels())
def test_any_kernel_has_one_verdict(source: str) -> None:
    one_verdict(ADD, source)


@effort(8)
@given(kernels())
def test_any_kernel_has_one_verdict_of_the_compiler(source: str) -> None:
    one_verdict(ADD, source, compiles=True)


@effort(15)
@given(launchers())
def test_any_launcher_has_one_verdict(source: str) -> None:
    one_verdict(DELTA, source)


@effort(30)
@given(scratched(KERNEL), scratched(LAUNCHER))
def test_any_text_has_one_verdict(kernel: str, launcher: str) -> None:
    one_verdict(ADD, kernel)
    one_verdict(DELTA, launcher)


@effort(80)
@given(replies(), ends)
def test_any_reply_of_a_runner_has_one_end(data: bytes, end: object) -> None:
    one_end(data)
    one_verdict_by_a_reply(data, end)


@pytest.mark.slow
@effort(250)
@given(kernels(), launchers(), scratched(KERNEL), scratched(LAUNCHER))
def test_many_cells_have_one_verdict_each(
    kernel: str, launcher: str, kernel_text: str, launcher_text: str
) -> None:
    for source in (kernel, kernel_text):
        one_verdict(ADD, source)
    for source in (launcher, launcher_text):
        one_verdict(DELTA, source)


@pytest.mark.slow
@effort(50)
@given(kernels())
def test_many_kernels_have_one_verdict_of_the_compiler(source: str) -> None:
    one_verdict(ADD, source, compiles=True)


@pytest.mark.slow
@effort(3000)
@given(replies())
def test_many_replies_of_a_runner_have_one_end_each(data: bytes) -> None:
    one_end(data)


@pytest.mark.slow
@effort(500)
@given(replies(), ends)
def test_many_replies_come_to_one_verdict_each(data: bytes, end: object) -> None:
    one_verdict_by_a_reply(data, end)
