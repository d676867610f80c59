"""The arguments of a case: how arrays are stored, and what a kernel is told of it."""

import numpy as np

from course.spec.exercise import Array, KernelExercise, Role, Scalar, Stride, case
from course.spec.inputs import drawn
from course.spec.launching import Programs
from course.words.statement import statement_text


def exercise(within: str = "") -> KernelExercise:
    return KernelExercise(
        "copy_matrix",
        "title",
        "task",
        1,
        5,
        1,
        ("hint",),
        parameters=(
            Array("x", "M, N", within=within),
            Array("out", "M, N", Role.OUT),
            Scalar("M", "M", "int32"),
            Stride("stride_m", "x", 0),
            Stride("stride_n", "x", 1),
        ),
        cases=(case(M=3, N=5),),
        launch=Programs("M"),
    )


def strides(within: str = "", transposed: tuple[str, ...] = ()) -> tuple[int, int]:
    arguments = drawn(
        exercise(within), case(transposed=transposed, M=3, N=5), np.random.default_rng(0)
    )
    return arguments["stride_m"], arguments["stride_n"]


def test_strides_count_elements_of_the_array_as_it_is_stored() -> None:
    assert strides() == (5, 1)
    assert strides(within="M + 2, N + 3") == (8, 1)
    assert strides(transposed=("x",)) == (1, 3)


def test_a_matrix_stored_by_columns_has_the_values_of_one_stored_by_rows() -> None:
    by_rows = drawn(exercise(), case(M=3, N=5), np.random.default_rng(0))
    by_columns = drawn(exercise(), case(transposed=("x",), M=3, N=5), np.random.default_rng(0))
    assert np.array_equal(by_rows["x"], by_columns["x"])


def test_the_statement_says_which_stride_a_parameter_is() -> None:
    assert "= x.stride(1)" in statement_text(exercise())


def test_an_input_computed_of_others_sees_them_as_the_kernel_gets_them_and_the_scalars() -> None:
    def scaled(x: np.ndarray, factor: int) -> np.ndarray:
        return factor * x

    of_others = KernelExercise(
        "add",
        "title",
        "task",
        1,
        5,
        1,
        ("hint",),
        parameters=(
            Array("x", "N", dtype="float16"),
            Array("y", "N", computed=scaled),
            Scalar("factor", "N + 3"),
            Array("out", "N", Role.OUT),
        ),
        cases=(case(N=4),),
        launch=Programs("1"),
    )
    arguments = drawn(of_others, case(N=4), np.random.default_rng(0))
    assert arguments["y"].dtype == np.float32
    assert np.array_equal(arguments["y"], 7 * arguments["x"].astype(np.float32))
