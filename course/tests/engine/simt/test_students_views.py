"""Views of arrays and tuples of arrays give what NumPy gives, and count as their arrays."""

import numpy as np
from numba import cuda, float32

import course
from course.engine.faults import Outcome
from course.tests.engine.simt.faults import fault_of

from . import students_views as k

RNG = np.random.default_rng(5)


def floats(*shape):
    return RNG.random(shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def sectors(traffic, array):
    """(sectors loaded, sectors stored) of an array."""
    found = {"load": 0, "store": 0}
    for site in traffic.sites:
        if site.array == array:
            found[site.direction] += site.sectors
    return found["load"], found["store"]


def test_a_row_or_a_column_is_an_argument_of_a_device_function():
    a, rows, columns = floats(40, 64), zeros(40), zeros(64)
    with course.measure() as by_rows:
        k.rows_by_device_function[2, 32](a, rows)
    with course.measure() as by_columns:
        k.columns_by_device_function[2, 32](a, columns)
    np.testing.assert_allclose(rows, a.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(columns, a.sum(axis=0), rtol=1e-5)
    assert sectors(by_rows, "a") == (40 * 64, 0)
    assert sectors(by_columns, "a") == (40 * 64 // 8, 0)


def test_a_product_of_rows_and_columns():
    a, b, c = floats(20, 16), floats(16, 32), zeros(20, 32)
    with course.measure() as traffic:
        k.matmul_of_rows_and_columns[(3, 4), (8, 8)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    with course.measure() as plain:
        plain_matmul[(3, 4), (8, 8)](a, b, c)
    for array in "abc":
        assert sectors(traffic, array) == sectors(plain, array)


@cuda.jit
def plain_matmul(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        s = float32(0)
        for n in range(a.shape[1]):
            s += a[i, n] * b[n, j]
        c[i, j] = s


def test_a_window_is_cut_at_the_ends_of_its_array():
    x, y = floats(50), zeros(50)
    k.stencil_by_window[2, 32](x, y)
    wanted = [x[max(i - 2, 0) : i + 3].mean() for i in range(50)]
    np.testing.assert_allclose(y, wanted, rtol=1e-5)


def test_a_device_function_changes_the_row_it_is_given():
    a, by = floats(20, 7), floats(20)
    wanted = a * by[:, None]
    k.scale_rows_in_place[1, 32](a, by)
    np.testing.assert_array_equal(a, wanted)


def test_steps_negative_steps_and_stores_through_slices():
    a, out = floats(9, 7), zeros(9, 6)
    k.every_other_and_backwards[1, 32](a, out)
    wanted = np.stack([a[:, 6], a[:, 6], a[:, 5], *np.full((3, 9), 7)], axis=1)
    np.testing.assert_array_equal(out, wanted)


def test_a_constant_below_0_counts_from_the_end():
    x, a, out, bins = floats(10), floats(20, 3), zeros(20), np.zeros(5, np.int32)
    k.last_ones[1, k.TPB](x, a, out, bins)
    np.testing.assert_allclose(out, x[-1] + a[:, -1] + a[:, -2] + x[5] + 5, rtol=1e-6)
    np.testing.assert_array_equal(bins, [0, 0, 7, 0, 20])
    fault = fault_of(k.beyond_the_first, 1, 1, x, out)
    assert fault.outcome is Outcome.OUT_OF_BOUNDS
    assert "reads x[-11]" in str(fault)


def test_parts_of_shared_memory():
    x, y = floats(70), zeros(70)
    k.shared_halo[3, k.TPB](x, y)
    padded = np.pad(x, 1)
    np.testing.assert_allclose(y, padded[:-2] + padded[1:-1] + padded[2:], rtol=1e-6)
    a, out = floats(64, 4), zeros(64)
    k.shared_rows[2, k.TPB](a, out)
    blocks = a.reshape(2, 32, 4).sum(axis=2)
    np.testing.assert_allclose(out, np.roll(blocks, -1, axis=1).ravel(), rtol=1e-6)


def test_atomics_reach_the_row_of_their_block():
    x, bins = RNG.integers(0, 5, 96).astype(np.int32), np.zeros((3, 5), np.int32)
    k.histogram_a_block[3, 32](bins, x)
    np.testing.assert_array_equal(bins, [np.bincount(part, minlength=5) for part in np.split(x, 3)])


def test_a_private_array_is_cleared_by_a_slice():
    x, out = RNG.integers(0, 4, (20, 12)).astype(np.int32), np.zeros((20, 4), np.int32)
    k.private_and_cleared[1, 32](x, out)
    np.testing.assert_array_equal(out, [np.bincount(row, minlength=4) for row in x])


def test_channels_and_ellipsis():
    image, grey = floats(9, 10, 4), zeros(9, 10)
    k.slices_of_channels[(2, 2), (8, 8)](image, grey)
    np.testing.assert_allclose(grey, image[..., :3] @ [0.299, 0.587, 0.114], rtol=1e-5)
    k.last_axis_by_ellipsis[(2, 2), (8, 8)](image, grey)
    np.testing.assert_array_equal(grey, image[..., 1] - image[..., 0])


def test_threads_that_meet_in_a_column_race_for_the_arrays_element():
    fault = fault_of(k.race_through_a_column, 1, 32, zeros(8, 3))
    assert (fault.outcome, fault.fields["index"]) == (Outcome.RACE, "0, 1")


def test_two_views_of_one_array_race_where_they_overlap():
    fault = fault_of(k.read_beside_the_view, 2, 32, floats(128))
    assert (fault.outcome, fault.fields["array"]) == (Outcome.RACE, "a")


def test_an_index_past_a_slice_is_out_of_bounds_though_the_array_goes_on():
    fault = fault_of(k.past_the_slice, 1, 32, floats(40), zeros(32))
    assert fault.outcome == Outcome.OUT_OF_BOUNDS
    assert (fault.fields["index"], fault.fields["shape"]) == ("4", "4")


def test_what_no_view_wrote_is_uninitialised():
    fault = fault_of(k.never_written, 1, 8, zeros(8))
    assert (fault.outcome, fault.fields["index"]) == (Outcome.UNINITIALISED, "3, 0")


def test_a_row_outside_of_its_array_is_out_of_bounds_where_it_is_read():
    fault = fault_of(k.rows_by_device_function, 1, 32, floats(32, 4), zeros(8))
    assert (fault.outcome, fault.fields["array"]) == (Outcome.OUT_OF_BOUNDS, "out")


def test_tuples_of_arrays():
    x, y, out = floats(40), floats(40), zeros(40)
    k.sum_of_arrays[2, 32](x, y, out)
    np.testing.assert_array_equal(out, x + y)
    with course.measure() as traffic:
        k.arrays_in_a_tuple[2, 32]((x, y), out)
    np.testing.assert_allclose(out, y, atol=1e-6)
    assert sectors(traffic, "parts[1]") == (5, 0)
    k.picked_from_a_tuple[2, 32](x, y, out)
    odd = np.arange(40) % 2 == 1
    np.testing.assert_allclose(out, y - x + np.where(odd, y, x), atol=1e-6)


def test_a_tuple_of_arrays_is_written_through():
    position, velocity = floats(40), floats(40)
    velocity.flags.writeable = False
    wanted = position + velocity * np.float32(0.5)
    k.structure_of_arrays[2, 32]((position, velocity), np.float32(0.5))
    np.testing.assert_allclose(position, wanted, rtol=1e-6)


def test_buffers_of_a_tuple_take_turns():
    a, b = floats(32), zeros(32)
    wanted = a.copy()
    for _ in range(3):
        wanted = wanted + np.roll(wanted, -1)
    k.ping_pong[1, 32](a, b, 3)
    np.testing.assert_array_equal(b, wanted)


def test_tuples_are_cut_and_joined():
    a, out = floats(8, 9, 2), zeros(8, 9)
    k.tuples_cut_and_joined[(1, 2), (8, 8)](a, out)
    np.testing.assert_allclose(out, a[..., 0] + np.roll(a[..., 0], -1, axis=1), rtol=1e-6)


def test_bodies_are_rows():
    position, mass, pull = floats(20, 3), floats(20), zeros(20, 3)
    k.nbody[1, 32](position, mass, pull, np.float32(0.01))
    apart = position[None] - position[:, None]
    weight = mass * ((apart**2).sum(axis=-1) + 0.01) ** -1.5
    np.testing.assert_allclose(pull, (apart * weight[..., None]).sum(axis=1), rtol=1e-3, atol=1e-3)


def test_moves_are_a_tuple_of_tuples():
    u, new = floats(9, 11), zeros(9, 11)
    k.heat[(2, 2), (8, 8)](u, new, 0.1)
    inside = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    wanted = u.copy()
    wanted[1:-1, 1:-1] = inside + 0.1 * (around - 4 * inside)
    np.testing.assert_allclose(new, wanted, rtol=1e-5)


def test_points_go_to_their_nearest_centre():
    points, centres = floats(50, 3), floats(4, 3)
    labels, sums, sizes = np.zeros(50, np.int32), zeros(4, 3), np.zeros(4, np.int32)
    k.kmeans_assign[2, 32](points, centres, labels, sums, sizes)
    nearest = ((points[:, None] - centres) ** 2).sum(axis=-1).argmin(axis=1)
    np.testing.assert_array_equal(labels, nearest)
    np.testing.assert_array_equal(sizes, np.bincount(nearest, minlength=4))
    wanted = [points[nearest == c].sum(axis=0) for c in range(4)]
    np.testing.assert_allclose(sums, wanted, rtol=1e-5)


def test_a_polynomial_from_its_last_coefficient():
    coefficients, x, y = RNG.random(5), RNG.random(40), np.zeros(40)
    k.polynomial[2, 32](coefficients, x, y)
    np.testing.assert_allclose(y, np.polyval(coefficients[::-1], x))


def test_three_nearest_neighbours_vote():
    train, test, out = floats(30, 4), floats(10, 4), np.zeros(10, np.bool_)
    labels = RNG.integers(0, 2, 30).astype(np.int32)
    k.knn[1, 32](train, labels, test, out)
    near = np.argsort(((test[:, None] - train) ** 2).sum(axis=-1), axis=1)[:, :3]
    np.testing.assert_array_equal(out, labels[near].sum(axis=1) >= 2)


def test_an_oscillator_by_runge_kutta():
    x, v, out = floats(20), floats(20), zeros(20, 2)
    k.rk4_oscillator[1, 32](x, v, out, 0.01, 100)
    np.testing.assert_allclose(out[:, 0], x * np.cos(1) + v * np.sin(1), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(out[:, 1], v * np.cos(1) - x * np.sin(1), rtol=1e-3, atol=1e-5)


def test_blocks_add_up_under_a_lock():
    x, out = floats(4), zeros(1)
    k.sum_under_a_lock[4, 32](x, np.zeros(1, np.int32), out)
    np.testing.assert_allclose(out, x.sum(), rtol=1e-6)
