"""Random and corrupted notebooks and cells: no crash, no hang, one verdict each."""

import json
import string
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.grading.submissions import parse
from autograder.judge.judge import course_check, faulted, judge_cell, result
from autograder.judge.sentences import Fault
from autograder.lessons.catalogue import lesson_exercises
from autograder.proof.exploit import exploits
from autograder.tests.notebooks import EXERCISES, cell, notebook
from course.check.check import check_source
from course.engine.faults import Outcome
from course.spec.exercise import case

VECTOR_ADD = next(e for e in lesson_exercises("threads") if e.name == "vector_add")
GRID_MATH = next(e for e in lesson_exercises("threads") if e.name == "grid_math")
RIGHT = next(one.cell for one in exploits() if one.name == "control_honest.right") or ""
GOOD = notebook([cell("# text", kind="markdown"), *(cell(RIGHT, name) for name in EXERCISES)])
GOOD_BYTES = json.dumps(GOOD).encode()
LONGEST_SECONDS = 20.0  # on a machine that does much else; alone it takes two at most
#: A verdict that says that the check itself failed.
BROKEN = (Outcome.NOT_MEASURED,)


def effort(examples: int) -> settings:
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None,
                    suppress_health_check=quiet)  # fmt: skip


# ------------------------------------------------------------------ notebooks

scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20),
    st.sampled_from(["code", "markdown", "raw", "vector_add", "grid_math", "\ud800", "NaN", RIGHT]),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)
KEYS = ("cells", "cell_type", "metadata", "nbgrader", "grade_id", "source", "nbformat", "points")


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good notebook with some of its parts removed, repeated or put in others' places."""
    content = json.loads(GOOD_BYTES)
    for _ in range(draw(st.integers(1, 4))):
        at: Any = content
        while isinstance(at, dict | list) and at:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            key = draw(st.sampled_from(keys))
            if not isinstance(at[key], dict | list) or draw(st.integers(0, 3)) == 0:
                kind = draw(st.sampled_from(["set", "remove", "repeat", "rename"]))
                if kind == "remove":
                    del at[key]
                elif kind == "repeat" and isinstance(at, list):
                    at.insert(key, at[key])
                elif kind == "rename" and isinstance(at, dict):
                    at[draw(st.sampled_from(KEYS))] = at.pop(key)
                else:
                    at[key] = draw(values)
                break
            at = at[key]
    return json.dumps(content).encode("utf-8", "surrogatepass")


@st.composite
def corrupted(draw: st.DrawFn) -> bytes:
    """The bytes of a good notebook, some of them changed, cut out, repeated or cut off."""
    data = bytearray(GOOD_BYTES)
    for _ in range(draw(st.integers(1, 6))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        size = draw(st.integers(0, 40))
        kind = draw(st.sampled_from(["flip", "cut", "repeat", "insert", "end"]))
        if kind == "flip" and data:
            data[place] ^= 1 << draw(st.integers(0, 7))
        elif kind == "cut":
            del data[place : place + size]
        elif kind == "repeat":
            data[place:place] = data[place : place + size]
        elif kind == "insert":
            data[place:place] = draw(st.binary(max_size=20))
        else:
            del data[place:]
    return bytes(data)


def one_verdict(data: bytes) -> None:
    """Reads a file as the worker does: a cell's text or a fault in words for each exercise."""
    start = time.perf_counter()
    for exercise in lesson_exercises("threads"):
        try:
            source = parse(data).solution(exercise.name)
        except Fault as fault:
            row = result(exercise, faulted(exercise, fault))
            assert row["points"] == 0
            assert len(row["message"]) > 10
            json.dumps(row).encode()
        else:
            source.encode()
    assert time.perf_counter() - start < LONGEST_SECONDS


# ------------------------------------------------------------------ cells

names = st.sampled_from(["a", "b", "c", "i", "x", "y", "f", "N", "cuda", "np", "math", "range"])
atoms = st.one_of(
    names,
    st.integers(-5, 2**70).map(str),
    st.floats().map(repr),
    st.sampled_from([
        "cuda.grid(1)", "cuda.threadIdx.x", "c.size", "a[i]", "b[0]", "a[i, i]", "float32(1)",
        "None", "True", "...", "'x'", "f'{a}'", "a.__class__", "np.pi", "math.sqrt(2)", "9 ** 9 ** 9",  # noqa: E501  # one line of JSON
        "cuda.atomic.add(c, i, 1)", "cuda.shared.array(32, float32)", "cuda.syncthreads()",
        "cuda.local.array(N, int32)", "f(x)", "1j", "b''", "[1]", "{}", "a[:]",
        "cuda.shfl_down_sync(-1, x, 1)", "cuda.ballot_sync(-1, x)", "int(x)", "len(a)", "range(3)",
    ]),
)  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@", "<", "==", "and"]
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([*OPERATORS, "or", "is", "in", "!="]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(st.sampled_from(["-", "~", "not ", "+", "*"]), inner).map("".join),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"({t[0]}, {t[1]})"),
        st.tuples(names, inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(st.sampled_from(["min", "max", "abs", "int", "print"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
        st.tuples(inner, st.sampled_from(["shape", "T", "size", "x", "__dict__"])).map(".".join),
    ),
    max_leaves=6,
)


def indented(lines: list[str]) -> str:
    text = "\n".join(lines) or "pass"
    return "\n".join("    " + line for line in text.splitlines())


simple = st.one_of(
    st.tuples(names, expressions).map(lambda t: f"{t[0]} = {t[1]}"),
    st.tuples(names, st.sampled_from(["+", "*", "//"]), expressions).map(
        lambda t: f"{t[0]} {t[1]}= {t[2]}"
    ),
    st.tuples(st.sampled_from(["c[i]", "c[0]", "c", "a[i]", "x[i]", "x, y"]), expressions).map(
        lambda t: f"{t[0]} = {t[1]}"
    ),
    expressions,
    st.sampled_from(["return", "break", "continue", "pass", "...", "cuda.syncthreads()", "del x",
                     "i = cuda.grid(1)", "return x", "import os", "global x", "yield"]),
)  # fmt: skip
statements = st.recursive(
    simple,
    lambda inner: st.tuples(
        st.one_of(
            expressions.map(lambda e: f"if {e}:"),
            st.just("if i < c.size:"),
            expressions.map(lambda e: f"while {e}:"),
            expressions.map(lambda e: f"for x in range({e}):"),
            st.just("for x in (1, 2, 3):"),
            st.sampled_from(
                ["with a:", "try:", "def g(x):", "class A:", "else:", "for a, b in c:"]
            ),
        ),
        st.lists(inner, max_size=3),
    ).map(lambda t: f"{t[0]}\n{indented(t[1])}"),
    max_leaves=6,
)
tops = st.one_of(
    expressions.map(lambda e: f"N = {e}"),
    statements,
    st.sampled_from(
        ["from numba import *", "import os", "T = (N, N)", "A = np.array([[1, 2]])", ""]
    ),
)


@st.composite
def cells(draw: st.DrawFn) -> str:
    """A cell that looks like a kernel's: imports, constants, a device function, the kernel."""
    body = ["i = cuda.grid(1)", *draw(st.lists(statements, min_size=1, max_size=5))]
    device = draw(st.lists(statements, max_size=2))
    parts = [
        "from numba import cuda, float32, int32\nimport math\nimport numpy as np",
        *draw(st.lists(tops, max_size=2)),
        f"@cuda.jit(device=True)\ndef f(x):\n{indented([*device, 'return x'])}",
        f"@cuda.jit\ndef vector_add(a, b, c):\n{indented(body)}",
    ]
    return "\n".join(parts) + "\n"


@st.composite
def scratched(draw: st.DrawFn) -> str:
    """A right cell with some characters changed, cut out or repeated."""
    text = RIGHT
    for _ in range(draw(st.integers(1, 5))):
        place, size = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        more = draw(st.text(string.printable + "é\ud800\0", max_size=4))
        text = text[:place] + more + draw(st.sampled_from(["", text[place:]])) * (size > 3) + (
            text[place + size :]
        )  # fmt: skip
    return text


numbers = st.recursive(
    st.sampled_from(
        [
            "i",
            "x",
            "y",
            "0",
            "3",
            "2.5",
            "c.size",
            "cuda.threadIdx.x",
            "s[cuda.threadIdx.x]",
            "l[0]",
        ]
        + ["a[i % c.size]", "b[x % c.size]", "f(y)", "int32(x)", "math.sqrt(y)", "TPB", "T[1]"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS[:9]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} < 2 else {t[2]})"),
    ),
    max_leaves=4,
)


def block(
    head: st.SearchStrategy[str], inner: st.SearchStrategy[str], ends: list[str]
) -> st.SearchStrategy[str]:
    """A compound statement, with something at its end."""
    return st.tuples(head, st.lists(inner, min_size=1, max_size=3), st.sampled_from(ends)).map(
        lambda t: f"{t[0]}\n{indented([*t[1], *filter(None, [t[2]])])}"
    )


lines = st.recursive(
    st.one_of(
        st.tuples(st.sampled_from("xy"), numbers).map(lambda t: f"{t[0]} = {t[1]}"),
        st.tuples(st.sampled_from("xy"), numbers).map(lambda t: f"{t[0]} += {t[1]}"),
        numbers.map(lambda e: f"s[cuda.threadIdx.x] = {e}"),
        numbers.map(lambda e: f"l[i % 4] = {e}"),
        numbers.map(lambda e: f"c[i % c.size] = {e}"),
        numbers.map(lambda e: f"cuda.atomic.add(c, i % c.size, {e})"),
        st.sampled_from(["cuda.syncthreads()", "return", "x, y = y, x", "print(x, y)"]),
    ),
    lambda inner: st.one_of(
        block(
            st.one_of(numbers.map(lambda e: f"if {e} < 3:"), st.just("if i < c.size:")),
            inner,
            ["", "", "return"],
        ),
        block(
            st.one_of(
                numbers.map(lambda e: f"while x < {e}:"),
                numbers.map(lambda e: f"for k in range(int({e})):"),
            ),
            inner,
            ["", "", "break", "continue", "return", "x += 1"],
        ),
        block(st.sampled_from(["for k in range(4):", "for k in (1, x, 3):"]), inner, [""]),
    ),
    max_leaves=8,
)


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """A cell whose names are all there, so that most of them compile and run."""
    start = ["i = cuda.grid(1)", "s = cuda.shared.array(256, float32)", "x = 1", "y = 0.5"]
    start += ["l = cuda.local.array(4, float32)", "l[0] = 1", "s[cuda.threadIdx.x] = 1"]
    body = [*start, *draw(st.lists(lines, min_size=1, max_size=6))]
    parts = [
        "from numba import cuda, float32, int32\nimport math\nTPB = 32\nT = (1, 2)",
        "@cuda.jit(device=True)\ndef f(x):\n    return x + 1",
        f"@cuda.jit\ndef vector_add(a, b, c):\n{indented(body)}",
    ]
    return "\n".join(parts) + "\n"


SMALL = (case(N=1), case(N=40))
#: how a check says that Numba takes, or may take, what it does not run
NOT_RUN = {"numba_compiles", "numba_not_asked", "numba_has", "array_choice", "lock"}


def one_cells_verdict(source: str) -> None:
    """A verdict with a reason, in time, and never that the check itself failed."""
    start = time.perf_counter()
    verdict = check_source(VECTOR_ADD, source, SMALL, 3)
    assert not verdict.internal_error
    assert verdict.outcome not in BROKEN or verdict.message_id in NOT_RUN, str(verdict)
    assert 0 <= verdict.credit <= 1
    row = result(VECTOR_ADD, verdict)
    assert len(row["message"]) > 10
    json.dumps(row).encode()
    assert time.perf_counter() - start < LONGEST_SECONDS


def one_answers_verdict(text: str) -> None:
    verdict = judge_cell(GRID_MATH, f"grid_math = {{'blocks': {text}}}\n", b"s", course_check)
    assert verdict.outcome not in BROKEN, verdict.internal_error
    assert 0 <= verdict.credit < 1


QUICK = effort(80)


@QUICK
@given(mutated())
def test_a_notebook_with_changed_parts_has_one_verdict_each(data: bytes) -> None:
    one_verdict(data)


@QUICK
@given(corrupted())
def test_a_notebook_of_changed_bytes_has_one_verdict_each(data: bytes) -> None:
    one_verdict(data)


@QUICK
@given(cells())
def test_any_kernel_has_one_verdict(source: str) -> None:
    one_cells_verdict(source)


@QUICK
@given(kernels())
@pytest.mark.slow
def test_any_kernel_that_runs_has_one_verdict(source: str) -> None:
    one_cells_verdict(source)


@QUICK
@given(scratched())
def test_any_text_has_one_verdict(source: str) -> None:
    one_cells_verdict(source)


@QUICK
@given(expressions)
def test_any_answer_has_one_verdict(text: str) -> None:
    one_answers_verdict(text)


@pytest.mark.slow
@effort(1200)
@given(mutated(), corrupted())
def test_many_notebooks_have_one_verdict_each(parts: bytes, data: bytes) -> None:
    one_verdict(parts)
    one_verdict(data)


@pytest.mark.slow
@effort(1000)
@given(cells(), kernels(), scratched(), expressions)
def test_many_cells_have_one_verdict_each(source: str, kernel: str, text: str, answer: str) -> None:
    one_cells_verdict(source)
    one_cells_verdict(kernel)
    one_cells_verdict(text)
    one_answers_verdict(answer)
