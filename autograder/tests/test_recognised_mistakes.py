"""Mistakes that are recognised: the sentence that each must get, of what its cases and text show.

A row names a witness and a part of its panel. What stands in a row was read beside its kernel, and
is true of it.
"""

import pytest

from autograder.proof.witness import Witness, witnesses_of
from course.check.check import check_source
from course.exercises import lesson

#: lesson: exercise and witness: a part of the sentence, of the next step, or of both
ROWS = {
    "start": {
        "double next_element": "The guard is about `i`, and the index is `i + 1`, which is 1 here.",
        "double doubles_the_index": "the index is `2 * i`, which is 1000 here.",
        "double guard_around_nothing": "256 threads along x, x has 1 element, and nothing keeps",
        "double every_thread_does_all": "Every thread runs the loop on line 6 from its start",
        "double squares": "what this slip gives: x * x, the square.",
        "double whole_numbers": "what would come of x without its fractions.",
    },
    "threads": {
        "vector_add no_guard": "nothing keeps the other threads from this line.",
        "vector_add guard_with_equal": "compares `i` with `c.size` and lets 1 through",
        "vector_add thread_without_block": "starts at 0 in each block: it repeats from block to",
        "vector_add grid_for_block": "Blocks begin `cuda.gridDim.x` (here 4) elements apart",
        "vector_add every_thread_loops": "nothing in `i` says which thread it is.",
        "vector_add clamped_index": "`min` sends all threads past the end to the last element.",
        "index_2d swapped_guard": "`row` is compared with `image.shape[1]`, which lets up to 69",
        "index_2d no_guard": "8 threads along y, image has 1 row, and nothing keeps",
        "index_2d one_side_guarded": "guarded for `row`, and nothing guards `col`",
        "index_2d guarded_by_size": "The test `row * col < image.size` lets this thread through",
        "index_2d guard_with_or": "lets a thread through where one of its comparisons holds.",
        "index_2d transposed_store": "stands where out has 5 rows. Is this the place of `col`",
        "index_2d thread_without_block": "The index `(row, col)` is made of cuda.threadIdx",
        "index_2d one_axis": "The two differ along y alone, and the index has no cuda.threadIdx.y",
        "index_2d pair_as_index": "32 threads along x, image has 1 row",
        "saxpy_grid_stride step_of_a_block": "steps by `cuda.blockDim.x` (here 128), and the grid",
        "saxpy_grid_stride step_of_blocks": "steps by `cuda.gridDim.x` (here 3), and the grid",
        "saxpy_grid_stride step_of_128": "steps by `STEP` (here 128), and the grid has 1024",
        "saxpy_grid_stride starts_in_the_block": "The index `i` is made of cuda.threadIdx",
        "saxpy_grid_stride one_round_too_many": "no `if` keeps larger numbers from this line.",
        "divergence no_guard": "256 threads along x, x has 1 column, and nothing keeps",
        "divergence stretches_overlap": "Blocks begin 64 elements apart, and each has 128 threads",
        "vector_add shifted_read": "`b[i - 1]` in the place of `b[i]`",
        "index_2d weights_swapped": "row + 2 * col, with the two weights swapped.",
        "saxpy_grid_stride single_pass": "x's elements give as far as the whole grid reaches",
        "saxpy_grid_stride two_rounds": "as far as two rounds of the grid reaches",
        "saxpy_grid_stride whole_rounds_only": "the whole steps of the whole grid along x's",
        "saxpy_grid_stride overwrites_y": "what would come of y = 0 everywhere.",
        "saxpy_grid_stride whole_alpha": "what would come of alpha without its fraction.",
        "saxpy_grid_stride whole_stretches_only": "right where N is a multiple of G (N = 1, 1000,",
        "divergence rows_mixed_up": "the cube roots of row 0 and the square roots of row 1.",
    },
    "coalescing": {
        "column_or_row no_guard": "out has 1 row, and nothing keeps the other threads",
        "column_or_row last_strip_full": "over `range(16 * s, 16 * s + 16)`, and a has 1 row.",
        "padded_rows no_row_guard": "the line is guarded for `col`, and nothing guards `row`.",
        "column_or_row every_nth_row": "the rows s, s + strips, s + 2 * strips",
        "column_or_row whole_columns": "the sum of the whole column in every strip.",
        "column_or_row first_row_twice": "the first row of each strip added twice.",
        "column_or_row whole_numbers": "what would come of a without its fractions.",
        "padded_rows padding_scaled": "the padding scaled, too.",
        "padded_rows tidies_the_padding": "the padding set to 0.",
    },
    "shared_memory": {
        "shared_reverse mirror_off_by_one": "`REVERSED - t` is 128 for this thread, and tile has",
        "shared_reverse grid_index_in_the_tile": "`i` counts on from block to block.",
        "shared_reverse in_place_without_a_tile": "overwrites what another one has still to read",
        "shared_reverse mirror_of_the_whole_array": "no barrier spans blocks",
        "shared_reverse only_the_warp_waits": "`cuda.syncwarp()` on line 10 orders the lanes of",
        "transpose store_not_guarded": "`if` on `cuda.blockIdx.x * TILE + ty`.",
        "transpose tile_smaller_than_the_block": "32 threads along y, and tile has 16 rows.",
        "stencil_halo ends_not_guarded": "The index is `i - RADIUS`.",
        "stencil_halo room_for_one_halo": "Is tile as long as it has to be?",
        "stencil_halo right_halo_misplaced": "Two lines fill one cell.",
        "block_sum no_barrier_in_the_tree": "The loop on line 14 has no barrier",
        "block_sum every_thread_stores": "Let one thread of the block do it",
        "block_sum one_thread_too_many": "`t + s` is 256 for this thread, and tile has 256 cells",
        "row_sum every_lane_stores": "`cuda.grid(1) // 32` is the same number for 32 neighbouring",
        "row_sum one_cache_for_all_warps": "The index `lane` is one and the same for both threads",
        "dot every_thread_stores": "each stores a number of its own: one of them stays.",
        "histogram plain_addition": "`cuda.atomic.add(private, data[i], ...)`",
        "histogram blocks_overwrite": "`cuda.atomic.add(counts, t, ...)`",
        "histogram more_threads_than_bins": "256 threads along x, and private has 64 cells.",
        "five_mistakes as_found": "Work out the last `j` of the loop by hand.",
        "shared_reverse nothing_is_turned": "The array holds what it held before the launch.",
        "stencil_halo ends_clamped": "the first and the last element in the place of those",
        "stencil_halo one_term_short": "a window of six elements, without a[i + 3].",
        "block_sum one_step_short": "the cells 0, 2, 4 and so on of a slice",
        "row_sum whole_steps_only": "the whole steps of one warp along a's columns",
        "dot one_product_a_thread": "a's elements give as far as the whole grid reaches",
        "dot stride_of_a_block": "right where N fits into one block (N = 1, 10)",
        "dot_any_block plain_halving": "right where THREADS is a power of two (THREADS = 32, 64)",
        "warp_sum wrong_direction": "32 times the first number of each 32",
        "warp_sum four_steps": "the first 16 numbers of each 32.",
        "prefix_sum own_element_left_out": "without the element itself.",
        "five_mistakes third_repaired": "the largest element, or 0 where all are below 0.",
        "block_sum one_thread_adds": "The loop on line 15 runs under `t == 0`: one thread",
        "prefix_sum one_thread_scans": "most of them in line 15.",
    },
    "matmul": {
        "matmul_naive guard_swapped": "`row` is compared with `C.shape[1]`",
        "matmul_naive one_step_too_many": "over `range(A.shape[1] + 1)`, and A has 1 column.",
        "matmul_tiled no_second_barrier": "A barrier has to stand behind line 21, in the loop",
        "matmul_tiled guard_forgets_k": "guarded for `row`, and nothing guards `start + tx`",
        "matmul_coarse no_guard": "The index is `top + r`, A has 1 row, and no `if` keeps",
        "matmul_coarse_1d rows_not_guarded": "lets this thread through with `first + r` = 1",
        "matmul_a_stationary plain_addition": "`cuda.atomic.add(C, (row, column), ...)`",
        "matmul_a_stationary plain_store": "Parts of one sum meet by `cuda.atomic.add`.",
        "matmul_tiled last_step_missing": "the whole steps of one block along x along A's columns",
    },
    "roofline": {
        "repeat_multiply one_step": "one step, each from x again.",
        "repeat_multiply starts_at_one": "one step too few.",
    },
    "hello_triton": {
        "triton_add mask_one_too_far": "The mask `offsets <= N` holds for 1, too",
        "triton_add blocks_two_apart": "Every second piece of BLOCK (1024) is wrong",
        "wave_energy half_of_the_sum": "half of the whole sum.",
        "wave_energy sine_of_the_square": "sin(x * x), the square before the sine.",
        "wave_energy squares_in_half_precision": "right to about 3 digits, and out is float32",
        "triple_sigmoid_backward last_stage_only": "the derivative of the last sigmoid alone.",
        "triple_sigmoid_backward dout_forgotten": "what would come of dout = 1 everywhere.",
        "dequantize one_block_a_row": "The first columns are right, as far as BLOCK (1024) reaches",
    },
    "fusion": {
        "triton_matmul k_stops_early": "the whole steps of BK along A's columns, without the rest.",
        "triton_matmul sum_starts_anew": "the last step of BK along A's columns gives",
        "matmul_epilogue bias_after_the_activation": "the bias added after the activation.",
        "matmul_epilogue gelu_by_tanh": "gelu by its approximation with tanh.",
        "gated_linear gate_on_the_wrong_side": "the sigmoid on the value and not on the gate.",
        "gated_linear weights_swapped": "what w1 and w2 would give if they changed places.",
        "gated_linear silu_for_sigmoid": "silu in the place of the sigmoid.",
        "quantised_matmul scale_forgotten": "what would come of scale = 1 everywhere.",
    },
    "softmax": {
        "softmax_three_pass one_tile_of_the_row": "right where N fits into BLOCK (N = 1, 300,",
        "softmax_one_pass padded_with_zeros": "right where N is a multiple of BLOCK (N = 1, 4096)",
    },
    "norms": {
        "rmsnorm eps_outside_the_root": "eps added outside of the root.",
        "rmsnorm root_forgotten": "the root left out.",
        "rmsnorm mean_over_the_block": "the mean over the block, not over the row.",
        "layernorm divided_by_d_minus_1": "a variance divided by D - 1.",
        "layernorm eps_outside_the_root": "eps added outside of the root.",
        "rmsnorm_backward scale_taken_as_constant": "without the second term.",
        "rmsnorm_backward weights_forgotten_in_the_mean": "a mean of dy * n, without the weights.",
        "rmsnorm_backward dw_of_x_not_of_n": "dw of x itself, not of the normalised row.",
        "rmsnorm_backward dw_in_the_inputs_type": "Whatever is wrong is infinite, or NaN.",
    },
    "attention": {
        "attend_one_query scale_forgotten": "scores that are never scaled.",
        "attend_one_query divided_by_d": "scores divided by D, not by its root.",
        "attend_one_query query_never_read": "the plain mean of the values.",
        "flash_causal own_key_left_out": "one key too few, the query's own left out.",
        "flash_forward first_head_only": "Of the heads, 1 is wrong and 0 right.",
    },
    "attention_backward": {
        "flash_lse lse_to_the_base_2": "lse to the base 2, as scores for exp2 leave it.",
        "flash_delta norm_of_the_gradient": "dout times itself, without out.",
    },
}


def rows() -> list[tuple[str, str, str]]:
    return [(stem, name, said) for stem, named in ROWS.items() for name, said in named.items()]


@pytest.fixture(scope="module")
def witnesses() -> dict[str, Witness]:
    """By exercise and name."""
    return {f"{w.exercise} {w.name}": w for stem in ROWS for w in witnesses_of(stem)}


@pytest.mark.parametrize(("stem", "name", "said"), rows(), ids=[name for _, name, _ in rows()])
def test_a_mistake_gets_the_sentence_that_is_true_of_it(
    stem: str, name: str, said: str, witnesses: dict[str, Witness]
) -> None:
    witness = witnesses[name]
    verdict = check_source(lesson(stem)[witness.exercise], witness.source)
    assert verdict.outcome is witness.outcome
    assert said in " ".join((verdict.message, *verdict.next_steps))
