import numpy as np

from course.spec.once import of_case, once


def test_work_on_the_same_memory_is_done_once_and_else_anew():
    done = []

    @once
    def total(values, factor):
        done.append(factor)
        return values.sum() * factor

    values = np.arange(6.0)
    assert [total(values, 2), total(values[:], 2)] == [30, 30]
    assert done == [2]
    assert [total(values, 3), total(values[::2], 3)] == [45, 18]
    assert total(values[::2].astype(np.int64), 3) == 18
    assert total(np.arange(6.0), 3) == 45
    assert len(done) == 5


def test_memory_that_was_given_back_is_not_taken_for_the_same():
    @once
    def first(values):
        return values[0]

    assert [first(np.full(1000, value)) for value in range(5)] == [*range(5)]


def test_what_follows_from_a_case_is_worked_out_once_for_each_choice_of_constants():
    done = []

    @of_case
    def size(exercise, case, constants):
        done.append(constants)
        return exercise["width"] * case["N"] * (constants or {}).get("TPB", 1)

    wide, short = {"width": 3}, {"N": 5}
    assert [size(wide, short), size(wide, short), size(wide, short, {})] == [15, 15, 15]
    assert len(done) == 1
    others = [size(wide, short, {"TPB": 2}), size({"width": 1}, short), size(wide, {"N": 7})]
    assert others == [30, 5, 21]
    assert len(done) == 4


def test_a_case_that_is_gone_is_not_taken_for_another():
    @of_case
    def size(exercise, case, constants):
        return case["N"]

    assert [size({}, {"N": n}) for n in range(5)] == [*range(5)]
