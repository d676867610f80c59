"""What passes, and is mentioned all the same: what `course.check.notes` has found in the text."""

from __future__ import annotations

NOTES: dict[str, tuple[str, str]] = {
    "note_float64": (
        "A note: `{number}` is a float64 in Numba, so `{written}` on line {line} is worked out in "
        "float64, which most GPUs do at a small part of the rate. `float32({number})` keeps it in "
        "float32.",
        "",
    ),
    "note_float64_sum": (
        "A note: `{name}` starts as `{number}`, a float64 in Numba, so the sum on line {line} is "
        "worked out in float64, which most GPUs do at a small part of the rate. "
        "`float32({number})` keeps it in float32.",
        "",
    ),
    "note_both_sides": (
        "A note: line {line} keeps one of `{one}` and `{two}`, and every thread has worked out "
        "both. No branch is counted, and each warp does the work of both sides.",
        "",
    ),
    "note_tf32": (
        "A note: `tl.dot` on line {line} gets float32, and takes it as TF32, with 11 of its 24 "
        'bits. It was enough here; `input_precision="ieee"` keeps all of them.',
        "",
    ),
    "note_ieee": (
        "A note: line {line} turns both operands of `tl.dot` to float32, and no tensor core makes "
        "such a product: an H200 makes a fifteenth as many in a second. What comes as float16 "
        "`tl.dot` takes as it is, and adds up in float32.",
        "",
    ),
    "note_fence": (
        "A note: line {stored} stores to `{name}` in shared memory, `{reader}` on line {line} "
        "reads it, and no `fence_async_shared()` stands between. Triton 3.7 and later put one "
        "there; Triton 3.6 does not, and there the reader may find what `{name}` held before.",
        "",
    ),
    "note_twice": (
        "A note: the cell defines `{name}` on line {line} and again on line {last}: the last one "
        "was taken.",
        "",
    ),
    "note_filled": (
        "A note: line {line} fills {bytes} bytes with a number, and the kernel stores over all of "
        "them. On a GPU that is a kernel of its own, which no row here counts; `torch.empty` "
        "stores nothing.",
        "",
    ),
    "note_masked_turns": (
        "A note: in {idle} turns of the loop on line {line}, of all programs together, no lane "
        "loads anything: its masks are false everywhere. Nothing is moved, and each such turn "
        "computes as long as any other. Could the loop end where this program's own work ends?",
        "",
    ),
}
