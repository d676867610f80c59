"""What learners write for `vector_add`, run for real: one verdict each, on the right line."""

import pytest

from course import exercises as ex
from course.check.check import check_source
from course.engine.faults import Outcome
from course.tests.kernels_of_learners import HEAD, RIGHT

ADD = "        c[i] = a[i] + b[i]\n"
GRID = "    i = cuda.grid(1)\n"
GUARD = "    if i < c.size:\n"
MISTAKES = {
    "no guard": (GRID + "    c[i] = a[i] + b[i]\n", "OUT_OF_BOUNDS", "out_of_bounds", 7),
    "guard <=": (GRID + "    if i <= c.size:\n" + ADD, "OUT_OF_BOUNDS", "out_of_bounds", 8),
    "reads the one before": (
        GRID + GUARD + "        c[i] = a[i - 1] + b[i]\n", "OUT_OF_BOUNDS", "negative_index", 8),
    "skips the first": (
        "    i = cuda.grid(1) + 1\n" + GUARD + ADD, "WRONG_ANSWER", "never_written", None),
    "subtracts": (
        GRID + GUARD + "        c[i] = a[i] - b[i]\n", "WRONG_ANSWER", "wrong_value", None),
    "adds to the output": (
        GRID + GUARD + "        c[i] += a[i] + b[i]\n", "WRONG_ANSWER", "output_read", None),
    "an atomic on the output": (
        GRID + GUARD + "        cuda.atomic.add(c, i, a[i] + b[i])\n",
        "WRONG_ANSWER", "output_read", None),
    "writes an input": (
        GRID + GUARD + "        a[i] = a[i] + b[i]\n", "WRONG_ANSWER", "read_only_input", None),
    "reads an input by atomics": (
        GRID + GUARD + "        c[i] = cuda.atomic.add(a, i, 0.0) + b[i]\n",
        "WRONG_ANSWER", "input_written", 8),
    "writes what an input holds": (
        GRID + GUARD + "        c[i] = a[i] + b[i]\n        a[i] = a[i]\n",
        "WRONG_ANSWER", "input_written", 9),
    "stores nothing": ("    pass\n", "WRONG_ANSWER", "never_stored", None),
    "every thread does all": (
        "    for i in range(c.size):\n" + ADD, "RACE", "race_global_same_value", 7),
    "one cell for all": (
        GRID + GUARD + "        c[0] = a[i] + b[i]\n", "RACE", "race_global", 8),
    "one thread does all": (
        "    if cuda.grid(1) == 0:\n        for i in range(c.size):\n    " + ADD,
        "TOO_MUCH_TRAFFIC", "too_much_traffic", 8),
    "a chunk a thread": (
        "    t = cuda.grid(1)\n    for i in range(4 * t, min(4 * t + 4, c.size)):\n" + ADD,
        "TOO_MUCH_TRAFFIC", "too_much_traffic", 8),
    "never ends": (
        GRID + "    while i < c.size:\n" + ADD, "TIMED_OUT", "timed_out", 8),
    "a name from another cell": (
        GRID + "    if i < N:\n" + ADD, "REJECTED", "undefined_name", 7),
    "a type that is not imported": (
        GRID + GUARD + "        c[i] = float16(a[i]) + b[i]\n",
        "REJECTED", "missing_import", 8),
    "an axis left out": (
        "    i = cuda.blockIdx * 256 + cuda.threadIdx\n" + GUARD + ADD,
        "DOES_NOT_COMPILE", "type_error", 6),
    "returns a value": (
        GRID + GUARD + "        return a[i] + b[i]\n", "REJECTED", "rejected_return", 8),
    "a slice": ("    c[:] = a[:] + b[:]\n", "DOES_NOT_COMPILE", "type_error", 6),
    "a list comprehension": (
        "    x = [v for v in a]\n    c[0] = x[0]\n", "REJECTED", "rejected_syntax", 6),
    "an import inside": ("    import math\n    c[0] = a[0]\n", "REJECTED", "rejected_syntax", 6),
    "whole arrays": ("    c = a + b\n", "DOES_NOT_COMPILE", "type_error", 6),
    "a float index": (
        "    i = cuda.grid(1) / 1\n    c[i] = a[i]\n", "DOES_NOT_COMPILE", "float_index", 7),
    "a half by `/=`": (
        GRID + "    i /= 2\n    c[i + 1] = a[i]\n", "DOES_NOT_COMPILE", "float_index", 8),
    "a barrier without brackets": (
        GRID + "    cuda.syncthreads\n", "REJECTED", "function_uncalled", 7),
    "two indices": (
        "    i, j = cuda.grid(2)\n    c[i, j] = a[i, j]\n", "DOES_NOT_COMPILE", "type_error", 7),
    "a bracket": ("    i = cuda.grid(1\n", "DOES_NOT_COMPILE", "syntax_error", 6),
    "an indent": (GRID + "  c[i] = a[i]\n", "DOES_NOT_COMPILE", "syntax_error", 7),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_gets_its_verdict_on_its_line(name):
    body, outcome, message_id, line = MISTAKES[name]
    verdict = check_source(ex.vector_add, HEAD + body)
    assert (verdict.outcome.value, verdict.message_id) == (outcome, message_id), str(verdict)
    assert verdict.line == line
    assert verdict.next_steps
    assert "not known" not in str(verdict)


HONEST = {
    "as asked": RIGHT,
    "other names": RIGHT.replace("(a, b, c)", "(x, y, z)")
    .replace("a[i]", "x[i]").replace("b[i]", "y[i]").replace("c[i]", "z[i]")
    .replace("c.size", "z.size"),
    "index by hand": RIGHT.replace(
        "cuda.grid(1)", "cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x"),
    "leaves early": f"{HEAD}{GRID}    if i >= c.size:\n        return\n    c[i] = a[i] + b[i]\n",
    "an index that is clamped": f"{HEAD}{GRID}    j = min(i, c.size - 1)\n"
    f"    total = a[j] + b[j]\n{GUARD}        c[i] = total\n",
    "a loop over two values": f"{HEAD}{GRID}{GUARD}        t = 0.0\n"
    "        for v in (a[i], b[i]):\n            t += v\n        c[i] = t\n",
    "prints": RIGHT.replace("    if i <", "    if i == 0:\n        print(i, a[i])\n    if i <"),
    "a marker left over": RIGHT + "    ...\n",
    "a docstring": RIGHT.replace(GRID, '    """Adds."""\n' + GRID),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(HONEST))
def test_an_honest_kernel_passes_with_full_points(name):
    verdict = check_source(ex.vector_add, HONEST[name])
    assert verdict.outcome is Outcome.PASS, str(verdict)
    assert verdict.credit == 1.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x = 1 + cuda.blockIdx", "write cuda.blockIdx.x, cuda.blockIdx.y or cuda.blockIdx.z"),
        ("x = 1 + cuda.gridsize", "write cuda.gridsize(1), or cuda.gridsize(2) for two axes"),
        ("x = c.size()", "c.size is the value itself: leave out the brackets"),
        ("x = threadIdx.x", "Did you mean `cuda.threadIdx`?"),
        ("x = sqrt(a[0])", "Did you mean `math.sqrt`?"),
        ("x = 1 if a else 2", "take an element, such as a[i]"),
        ("x = a.shape and 2", "take one of its numbers, such as a.shape[0]"),
        ("i = 3 / 2\n    x = a[i]", "Write `//` on line 6"),
        ("cuda.syncwarp", "Write `cuda.syncwarp(...)`"),
        ("return\n    c[0] == a[0]", "Write one `=`: `c[0] = ...`."),
        ("pass\n@cuda.jit(debug=True)\ndef f(a):", "device, fastmath"),
        ("x = a[0, 0]", "`a` has 1 axis and gets 2 indices"),
    ],
)
def test_a_sentence_about_a_slip_of_syntax_says_what_to_write(line, said):
    verdict = check_source(ex.vector_add, f"{HEAD}    {line}\n    c[0] = 1\n")
    assert said in f"{verdict.message} {' '.join(verdict.next_steps)}"


def test_a_pass_shows_requested_budget_and_least_bytes():
    verdict = check_source(ex.vector_add, RIGHT)
    assert [row.requested_bytes for row in verdict.rows] == [16384, 16384, 16384, 49152]
    assert [row.least_bytes for row in verdict.rows] == [16384, 16384, 16384, 49152]
    assert verdict.budget_bytes == pytest.approx(1.1 * 49152)


def test_a_row_that_few_sectors_lift_over_its_budget_is_not_called_a_small_part_of_the_total():
    clamped = "    i = cuda.grid(1)\n    j = i % c.size\n    total = a[j] + b[j]\n"
    guard = (
        "    if total < 1e9 and i < c.size:\n"  # behind `if i < c.size` alone they are made there
    )
    verdict = check_source(ex.vector_add, f"{HEAD}{clamped}{guard}        c[i] = total\n")
    row = next(row for row in verdict.rows if row.array == "a")
    assert 2 * row.requested_bytes > 0.9 * verdict.rows[-1].requested_bytes
    assert (row.small, row.note) == (
        True,
        "so few sectors above its formula cost nothing by themselves",
    )
    assert "`i % c.size` gives threads past the end" in verdict.message


def test_show_annotates_every_line_of_a_kernel_that_passes():
    verdict = check_source(ex.vector_add, RIGHT, detailed=True)
    assert [line.number for line in verdict.lines] == [4, 5, 6, 7, 8]
    asked = {(a.direction, a.array): a.sectors_a_request for a in verdict.lines[-1].accesses}
    assert asked == {("load", "a"): 4.0, ("load", "b"): 4.0, ("store", "c"): 4.0}


def test_a_check_leaves_the_kernels_print_to_the_notebook(capsys):
    check_source(ex.vector_add, HONEST["prints"])
    assert capsys.readouterr().out == ""
