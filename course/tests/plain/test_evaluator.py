"""The one evaluator of constants, answers and formulas: what Python says, and no more than that."""

import ast
import math
import time

import numpy as np
import pytest

from course import exercises
from course.check.answers import check_number_source
from course.check.check import check_source
from course.engine.cell.numba import read_cell
from course.engine.faults import KernelFault, Outcome
from course.plain.arithmetic import NoValue
from course.plain.evaluator import Evaluator, text
from course.spec.formula import FormulaError, evaluate
from course.tests.pace import within

#: Of a processor, for all constants of a cell: without a bound they take minutes.
SECONDS = 2.0

#: Expressions that a learner writes for a number.
NUMBERS = [
    *("1 << 7", "0xff & ~3 | 5 ^ 1", "256 >> 2", "-7 // 2", "-7 % 3", "2 ** -1", "7 / 2", "+T"),
    *("max(8, 16)", "min((3, 1, 2))", "max([T, 2])", "abs(-3)", "sum((1, 2, 3))", "pow(2, 10)"),
    *("pow(3, 5, 7)", "divmod(17, 5)[1]", "round(2.5)", "round(3.14159, 2)", "len((1, 2))"),
    *("int(math.log2(256))", "int('12')", "float('1e-3')", "int(7.9)", "2 * math.pi", "math.e"),
    *("math.ceil(T / 3)", "math.floor(2.7)", "math.sqrt(2)", "math.exp(1)", "math.log(8, 2)"),
    *("math.gcd(12, 18)", "math.prod((2, 3, 4))", "math.isqrt(17)", "math.hypot(3, 4)"),
    *("np.sqrt(2.0)", "np.pi", "np.log2(64)", "np.ceil(2.1)", "(1, 2, 3)[1]", "(1, 2, 3)[-1]"),
    *("5 if T > 3 else 6", "1 < T <= 256", "T == 256 and 3 or 4", "not T", "T in (128, 256)"),
    *("T not in [1]", "sum(i * i for i in range(10) if i % 2)", "len([i for i in range(3)])"),
    *("sum(a * b for a, b in zip((1, 2), (3, 4)))", "sum(i * x for i, x in enumerate((5, 6), 1))"),
    *("{'a': 3, 'b': 4}['b']", "max(range(1, T, 7))", "sorted((3, 1, 2))[0]", "sum((1, 2)[1:])"),
    *("(5).bit_length()", "(T - 1).bit_length()", "(7).bit_count()", "(T / 2).is_integer()"),
    *("all((1, 2))", "any([0, 0])", "len((0,) * 5 + (1,))", "sum([*range(3), 4])", "True + 1"),
]
#: What a Numba cell names, which no formula has for an answer.
TYPED = {
    "-math.inf": -math.inf,
    "-np.inf": -math.inf,
    "float('-inf')": -math.inf,
    'float("inf")': math.inf,
    "np.float32(1e-5)": np.float32(1e-5),
    "np.finfo(np.float32).min": np.finfo(np.float32).min,
    "np.iinfo(np.int32).max": 2**31 - 1,
    "divmod(17, 5)": (3, 2),
    "tuple(i * i for i in range(4))": (0, 1, 4, 9),
}
#: What is no arithmetic, or would never end.
REFUSED = [
    *("10 ** 10 ** 10", "1 << 10 ** 9", "2.0 ** 5000", "(-8) ** 0.5", "1 / 0", "'a' * 3"),
    *("9 ** 9999", "sum(i for i in range(10 ** 9))", "list(range(10 ** 9))"),
    *("((0,) * 1000) * 1000", "[[0] * 9] * 999", "round(1.5, 10 ** 9)"),
    *("pow(3, 10 ** 30, 10 ** 40)", "int('9' * 99)", "T.__class__", "().__class__", "np.save"),
    *("math.factorial(10 ** 6)", "eval('1')", "(lambda: 1)()", "f'{T}'", "(x := 3)"),
    *("open('x')", "[0 for a in range(99) for b in range(99) for c in range(99)]", "1j", "b'x'"),
    *("{1, 2}", "unknown", "max(x for x in (1, 2)).real", "{}[[1]]", "(1, 2)['a']", "'a' < 1"),
    *("math", "sum", "T[0]", "(2.5).bit_length()", "T.bit_length(1)", "T.real", "T.to_bytes(9)"),
]
HEAD = "from numba import cuda\nimport numpy as np\nimport math\nT = 256\n"


def constant(expression: str) -> object:
    """What a Numba cell makes of it."""
    return read_cell(f"{HEAD}X = {expression}").names["X"]


@pytest.mark.parametrize("expression", NUMBERS)
def test_what_python_says_of_arithmetic_an_answer_and_a_constant_say(expression: str) -> None:
    expected = eval(expression, {"math": math, "np": np, "T": 256})
    assert evaluate(expression, {"T": 256}) == expected
    assert constant(expression) == expected
    assert type(constant(expression)) in (type(expected), int, float, bool)


@pytest.mark.parametrize("expression", TYPED)
def test_a_constant_has_the_value_and_the_type_that_it_has_on_a_gpu(expression: str) -> None:
    assert constant(expression) == TYPED[expression]
    assert type(constant(expression)) is type(TYPED[expression])


#: Statements at a cell's top level, on `T`.
STATEMENTS = [
    *("T += 1", "T *= 4; U = T // 2", "T <<= 1", "(U, V), W = (1, 2), 3", "[U, V] = 1, 2"),
    *("U = V = 3", "U: int = 5", "U = {'a': 3}; V = U['a']", "U = [1, 2]; U += [3]; V = U[2]"),
    *("assert T % 32 == 0", "assert T > 0, 'why'", "assert T > 0, f'{T} is not {T + 1:>5}'"),
    *("U = None", "U = 'text'", "U = V = T; V -= 1"),
]


@pytest.mark.parametrize("statements", STATEMENTS)
@pytest.mark.parametrize("dialect", ["numba", "triton"])
def test_a_cells_top_level_does_what_python_does(dialect: str, statements: str) -> None:
    reader = pytest.importorskip(f"course.engine.cell.{dialect}", reason="no Triton here")
    found = reader.read_cell(f"T = 256\n{statements}\n")
    expected: dict[str, object] = {"T": 256}
    exec(statements, {}, expected)
    assert found.names == {n: value for n, value in expected.items() if not n.startswith("__")}


@pytest.mark.parametrize(
    "statement",
    ["assert T < 0", "assert T, open('x')", "assert T, f'{T.__class__}'", "T @= 2", "T.x += 1"],
)
@pytest.mark.parametrize("dialect", ["numba", "triton"])
def test_a_false_assertion_and_what_is_no_arithmetic_are_refused(
    dialect: str, statement: str
) -> None:
    reader = pytest.importorskip(f"course.engine.cell.{dialect}", reason="no Triton here")
    with pytest.raises(KernelFault) as fault:
        reader.read_cell(f"T = 256\n{statement}\n")
    assert fault.value.outcome is Outcome.REJECTED
    assert fault.value.line == 2


@pytest.mark.parametrize("expression", REFUSED)
def test_what_is_no_arithmetic_is_refused_soon_and_in_words(expression: str) -> None:
    start = time.process_time()
    with pytest.raises(FormulaError):
        evaluate(expression, {"T": 256})
    with pytest.raises(KernelFault) as fault:
        constant(expression)
    assert fault.value.outcome is Outcome.REJECTED
    assert time.process_time() - start < 1


def test_a_name_of_a_comprehension_ends_with_it() -> None:
    with pytest.raises(FormulaError, match="'i' has no value"):
        evaluate("sum(i for i in (1, 2)) + i")


def test_a_name_of_ours_hides_a_function() -> None:
    assert evaluate("max + 1", {"max": 3}) == 4


def test_a_long_construct_ends_in_dots_where_it_is_cut() -> None:
    short = ast.parse("x + y", mode="eval").body
    assert text(short) == "x + y"
    long = ast.parse(" + ".join(["element"] * 9), mode="eval").body
    assert len(text(long)) == 60
    assert text(long).endswith("...")


def test_an_evaluator_counts_its_steps() -> None:
    tree = ast.parse("sum(i for i in range(99))", mode="eval").body
    with pytest.raises(NoValue, match="too long"):
        Evaluator({}, step_limit=50).value(tree)


@pytest.mark.parametrize(
    "line",
    [
        *("n{k} = sum(range(1000))", "n{k} = (1,) * 1000", "n{k} = t == t", "n{k} = 2 in t"),
        *("n{k} = sum([a for a in range(1000)])", "n{k} = 0.5 in range(10**12)"),
        *("t = (t, t)", "t = (t,)", "t = t + t", "q = q * q", "q = q ** q"),
    ],
)
@pytest.mark.parametrize("name", ["vector_add", "triton_add", "grid_math"])
@pytest.mark.family
def test_thousands_of_constants_take_a_second_in_all(line: str, name: str) -> None:
    lines = "".join(line.format(k=k) + "\n" for k in range(1500))
    text = f"t = (1,) * 1000\nq = 9\n{lines}"
    if name == "triton_add":
        pytest.importorskip(
            "course.engine.cell.triton", reason="Triton has no wheel for this system"
        )
    if name == "grid_math":
        text += "grid_math = {'blocks': 1}\n"
    check = check_number_source if name == "grid_math" else check_source
    with within(SECONDS):
        verdict = check(getattr(exercises, name), text)
    assert verdict.outcome in (Outcome.REJECTED, Outcome.WRONG_ANSWER), verdict.message
