import numpy as np

from course.spec.once import once


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
