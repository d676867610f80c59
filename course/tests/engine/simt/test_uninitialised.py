"""A value that nobody wrote is never read: variables, shared and local arrays."""

import numpy as np
from numba import cuda, int32, int64

from course import Outcome

from .faults import fault_of, line_of


def eight(dtype=np.int64):
    return np.zeros(8, dtype)


def assert_unassigned(kernel, name, thread, marker="# here"):
    fault = fault_of(kernel, 1, 8, eight())
    assert fault.outcome is Outcome.UNINITIALISED
    assert fault.fields["name"] == name
    assert (fault.fields["thread"], fault.fields["block"]) == (str(thread), "0")
    assert fault.line == line_of(kernel, marker)


def test_a_variable_that_one_side_of_a_branch_sets():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i % 2 == 0:
            x = i
        out[i] = x  # here

    assert_unassigned(kernel, "x", 1)


def test_a_variable_that_no_thread_set():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i > 100:
            x = i
        out[i] = x  # here

    assert_unassigned(kernel, "x", 0)


def test_a_variable_that_a_loop_without_turns_sets():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        for j in range(i):
            x = j
        out[i] = x  # here

    assert_unassigned(kernel, "x", 0)


def test_the_variable_of_a_loop_without_turns():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        for j in range(i):
            pass
        out[i] = j  # here

    assert_unassigned(kernel, "j", 0)


def test_a_variable_behind_continue_and_break():
    @cuda.jit
    def skips(out):
        i = cuda.grid(1)
        for j in range(3):
            if i < 2:
                continue
            x = j
        out[i] = x  # here

    @cuda.jit
    def leaves(out):
        i = cuda.grid(1)
        while True:
            if i > 3:
                break
            y = i
            break
        out[i] = y  # here

    assert_unassigned(skips, "x", 0)
    assert_unassigned(leaves, "y", 4)


def test_an_update_and_a_part_of_a_tuple():
    @cuda.jit
    def update(out):
        i = cuda.grid(1)
        if i < 4:
            a = i
        a += 1  # here
        out[i] = a

    @cuda.jit
    def unpacked(out):
        i = cuda.grid(1)
        if i < 4:
            a, b = i, i + 1
        if i < 3:
            out[i] = a
        if i == 5:
            out[i] = b  # here

    assert_unassigned(update, "a", 4)
    assert_unassigned(unpacked, "b", 5)


def test_a_variable_of_some_blocks():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if cuda.blockIdx.x < 2:
            x = i
        out[i] = x

    fault = fault_of(kernel, 4, 8, np.zeros(32))
    assert (fault.fields["thread"], fault.fields["block"]) == ("0", "2")


def test_a_name_that_no_path_sets_before_does_not_compile():
    @cuda.jit
    def kernel(out):
        out[0] = q  # noqa: F821
        q = 1

    fault = fault_of(kernel, 1, 1, eight())
    assert (fault.outcome, fault.message_id) == (Outcome.DOES_NOT_COMPILE, "unassigned_name")


def test_a_variable_that_is_set_wherever_it_is_read_is_no_fault():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 4:
            a = i
        if i < 4 and a > 1:
            out[i] = a
        out[i] += 10 * a if i < 4 else -1
        for j in range(i):
            last = j
        if i > 0:
            out[i] += 100 * last

    out = eight()
    kernel[1, 8](out)
    assert out.tolist() == [0, 10, 122, 233, 299, 399, 499, 599]


def test_a_variable_that_gets_another_type_on_a_part_of_the_lanes():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i < 4:
            x = 1
        if i < 2:
            x = 0.5
        if i < 4:
            out[i] = x

    out = eight(np.float64)
    kernel[1, 8](out)
    assert out.tolist() == [0.5, 0.5, 1, 1, 0, 0, 0, 0]


def test_a_break_with_work_behind_it_keeps_what_other_lanes_assigned():
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        for j in range(10):
            if j == i:
                x = 2 * j
                out[i] = x
                break
            y = j
        if i > 0:
            out[i] += 100 * y

    out = eight()
    kernel[1, 8](out)
    assert out.tolist() == [0, 2, 104, 206, 308, 410, 512, 614]


def test_shared_cells_that_no_thread_wrote():
    @cuda.jit
    def kernel(out):
        s = cuda.shared.array((2, 32), int32)
        t = cuda.threadIdx.x
        if t < 32:
            s[1, t] = t
        cuda.syncthreads()
        out[t] = s[t // 32, t % 32]  # here

    fault = fault_of(kernel, 1, 64, np.zeros(64))
    assert (fault.outcome, fault.message_id) == (Outcome.UNINITIALISED, "uninitialised_shared")
    assert (fault.fields["array"], fault.fields["index"]) == ("s", "0, 0")
    assert fault.line == line_of(kernel, "# here")


def test_shared_cells_that_one_block_alone_left_out():
    @cuda.jit
    def kernel(out):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        if cuda.blockIdx.x != 1 or t != 7:
            s[t] = t
        cuda.syncthreads()
        out[cuda.grid(1)] = s[31 - t]

    fault = fault_of(kernel, 3, 32, np.zeros(96))
    assert (fault.fields["index"], fault.fields["thread"], fault.fields["block"]) == (
        "7",
        "24",
        "1",
    )


def test_an_atomic_on_a_shared_cell_that_no_thread_wrote():
    @cuda.jit
    def kernel(out):
        s = cuda.shared.array(1, int32)
        cuda.atomic.add(s, 0, 1)
        cuda.syncthreads()
        out[cuda.threadIdx.x] = s[0]

    assert fault_of(kernel, 1, 32, np.zeros(32)).message_id == "uninitialised_shared"


def test_shared_memory_does_not_keep_its_values_from_block_to_block():
    @cuda.jit
    def kernel(out):
        s = cuda.shared.array(1, int32)
        if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
            s[0] = 5
        cuda.syncthreads()
        out[cuda.grid(1)] = s[0]

    fault = fault_of(kernel, 2, 32, np.zeros(64))
    assert (fault.message_id, fault.fields["block"]) == ("uninitialised_shared", "1")


def test_local_cells_that_this_thread_did_not_write():
    @cuda.jit
    def kernel(out):
        own = cuda.local.array((2, 2), int64)
        t = cuda.threadIdx.x
        if t % 2:
            own[1, 0] = t
        out[t] = own[1, 0]  # here

    fault = fault_of(kernel, 1, 8, eight())
    assert (fault.message_id, fault.fields["array"]) == ("uninitialised_local", "own")
    assert (fault.fields["index"], fault.fields["thread"]) == ("1, 0", "0")
    assert fault.line == line_of(kernel, "# here")


def test_local_cells_at_indices_that_differ_between_threads():
    @cuda.jit
    def kernel(out, reads):
        own = cuda.local.array(8, int64)
        t = cuda.threadIdx.x
        own[t] = 10 * t
        own[(t + 1) % 8] = 7
        out[t] = own[reads[t]]

    out = eight()
    kernel[1, 8](out, np.arange(8))
    assert out.tolist() == [0, 10, 20, 30, 40, 50, 60, 70]
    reads = np.arange(8)
    reads[3] = 5
    fault = fault_of(kernel, 1, 8, eight(), reads)
    assert (fault.fields["index"], fault.fields["thread"]) == ("5", "3")


@cuda.jit
def counted(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)


@cuda.jit
def filled(out, value):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = value


def test_a_device_array_that_nothing_filled():
    x = np.arange(8) % 4
    fault = fault_of(counted, 1, 8, x, cuda.device_array(4, np.int32))
    assert (fault.outcome, fault.message_id) == (Outcome.UNINITIALISED, "uninitialised_global")
    assert [fault.fields[name] for name in ("access", "index", "thread")] == ["updates", "0", "0"]
    out = cuda.device_array(6, np.int32)
    filled[1, 8](out[:4], 7)
    counted[1, 8](x, out[:4])
    assert out[:4].copy_to_host().tolist() == [9, 9, 9, 9]
    assert fault_of(counted, 1, 8, x + 1, out).fields["index"] == "4"


def test_a_device_array_that_the_host_filled():
    x, zeros = np.arange(8) % 4, np.zeros(4, np.int32)
    by_index, by_copy, given = (cuda.device_array_like(zeros) for _ in range(3))
    by_index[:] = 0
    by_copy.copy_to_device(zeros)
    for out in (by_index, by_copy, cuda.to_device(zeros, to=given)):
        counted[1, 8](x, out)
        assert out.copy_to_host().tolist() == [2, 2, 2, 2]
