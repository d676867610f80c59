"""What the lessons say of kernels at full size is what `docs/full_size.json` holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.tests.quoted import prose

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORD = json.loads((DOCS / "full_size.json").read_text(encoding="utf-8"))


def run(kernel: str, case: str) -> dict[str, Any]:
    """The run whose sizes begin with `case`."""
    return next(r for r in RECORD["runs"] if r["kernel"] == kernel and r["case"].startswith(case))


def rate(kernel: str, case: str) -> str:
    return f"{run(kernel, case)['GB/s']:,.0f}"


def norms(rows: int) -> list[str]:
    """LayerNorm's speeds with tiles of so many rows, for the three widths of the table."""
    if rows == 1:
        return [rate("layernorm", f"M=32768, D={width}") for width in (1024, 4096, 8192)]
    cases = [f"M=32768, D={width}" for width in (1024, 4096, 8192)]
    ends = ";" if rows == 4 else f", ROWS={rows};"
    return [rate("layernorm/tile_of_four_rows", case + ends) for case in cases]


@pytest.mark.parametrize("rows", [1, 2, 4, 8])
def test_lesson_08_quotes_the_speeds_of_tiles(rows: int) -> None:
    assert f"| {rows} | {' | '.join(norms(rows))} |" in prose("08_norms").replace("*", "")


PRODUCTS = [f"M=16, N={size}, K={size}" for size in (4096, 8192)]
LONG = "M=64, N=64, K=65536"
SPLIT = ("nobody_shares", "sixteen_parts", "sixty_four_parts", "", "two_hundred_parts")


@pytest.mark.parametrize(
    ("kernel", "column", "words"),
    [
        ("quantised_matmul", "torch_us", "float16 weights, cuBLAS"),
        ("quantised_matmul/one_part", "us", "int8, a program a strip"),
        ("quantised_matmul", "us", "int8, parts of 512 steps"),
    ],
)
def test_lesson_09_quotes_the_times_of_int8_weights(kernel: str, column: str, words: str) -> None:
    times = [f"{run(kernel, case)[column]}" for case in PRODUCTS]
    assert f"| {words} | {' | '.join(times)} |" in prose("09_fusion")


def test_lesson_09_quotes_the_times_of_parts() -> None:
    times = [run(f"split_k/{name}".rstrip("/"), LONG)["us"] for name in SPLIT]
    assert f"| time | {' | '.join(f'{us:.0f}' for us in times)} |" in prose("09_fusion")
    assert f"cuBLAS takes {run('split_k', LONG)['torch_us']:.0f}" in prose("09_fusion")


def test_lesson_09_quotes_the_speeds_of_products_and_of_the_gated_layer() -> None:
    said = prose("09_fusion")
    gated = json.loads((DOCS / "gated_linear.json").read_text(encoding="utf-8"))["rows"]
    tall, square = ({way: round(row[way]) for way in ("eager", "compiled")} for row in gated)
    cublas = run("triton_matmul", "M=4096")["torch_TFLOP/s"]
    epilogue, ours = run("matmul_epilogue", "M=4096"), run("gated_linear", "M=65536")
    assert f"4096 x 4096 at {cublas:.0f} TFLOP/s with cuBLAS" in said
    assert f"the solution takes {epilogue['us']:.0f} us" in said
    assert f"two small kernels, {epilogue['torch_us']:.0f}:" in said
    assert f"from {tall['eager']} TFLOP/s in eager PyTorch to {tall['compiled']} with" in said
    assert f"it goes from {square['eager']} to {square['compiled']}." in said
    assert f"stands in between, at {ours['TFLOP/s']:.0f}:" in said


def test_lesson_04_quotes_the_speeds_of_four_names_and_an_array() -> None:
    case = "M=2048, N=2048, K=2048"
    tiled, names, array, by_range = (
        run(kernel, case)["TFLOP/s"]
        for kernel in (
            *("matmul_tiled", "matmul_coarse_1d"),
            *("matmul_coarse_1d/local_array", "matmul_coarse_1d/rows_by_range"),
        )
    )
    said = prose("04_matmul")
    assert f"<code>matmul_tiled</code> {tiled} TFLOP/s, four names {names}, and with" in said
    assert f"inside the loop over k {array}, <em>less</em>" in said
    assert f"<code>range(ty, ROWS, T)</code> for the same reason: {by_range} TFLOP/s" in said


def test_lesson_10_quotes_the_times_of_attention() -> None:
    heads = "H=16, N=4096, D=64, GAP=0"
    halves = "q float16, k float16, v float16, out float16"
    fused = run("flash_forward", heads)
    plain = run("flash_forward", f"{heads}; {halves}; beside unfused attention")
    tuned = run("flash_forward/keys_64_on_four_warps", heads)
    said = prose("10_attention")
    assert f'"PyTorch, unfused": {plain["torch_us"] / 1000:.3f}' in said
    assert f'"flash_forward": {fused["us"] / 1000:.3f}' in said
    assert f'"PyTorch, fused": {fused["torch_us"] / 1000:.3f}' in said
    assert f"on an H200, {fused['date']}, PyTorch 2.11, Triton 3.6" in said
    assert f"the same kernel took {tuned['us'] / 1000:.3f} ms in the same run" in said


def test_lesson_09_quotes_what_grouped_order_brings() -> None:
    plain, grouped = (run(k, "M=8192")["TFLOP/s"] for k in ("triton_matmul", "grouped_order"))
    said = f"`triton_matmul` runs at {plain:.0f} TFLOP/s and `grouped_order` at {grouped:.0f}."
    assert said in prose("09_fusion")


def test_lesson_10_quotes_what_splitting_the_keys_brings() -> None:
    one, split = (run(k, "H=8, N=131072")["us"] for k in ("attend_one_query", "flash_decode"))
    assert f"8 heads of 131,072 keys: {one:,.0f} us become {split:.0f}." in prose("10_attention")


def test_lesson_11_quotes_how_long_the_way_back_takes() -> None:
    heads = "H=16, N=4096, D=64, causal=0"
    there, *back = (run(k, heads)["us"] for k in ("flash_lse", "flash_dkdv", "flash_dq"))
    said = f"the two take {sum(back) / there:.1f} times as long as the forward pass on an H200"
    assert said in prose("11_attention_backward")


def test_lesson_11_quotes_the_speeds_of_libraries_and_of_tuned_walks() -> None:
    def torch(kernel: str, heads: str, peer: str) -> dict[str, Any]:
        return next(
            r
            for r in RECORD["runs"]
            if r["kernel"] == f"{kernel}/tuned"
            and r["case"].startswith(heads)
            and r["case"].endswith(f"; beside {peer}")
        )

    wide, narrow = "H=32, N=8192, D=128", "H=32, N=8192, D=64"
    forward = [
        torch("flash_forward", wide, p)["torch_TFLOP/s"] for p in ("FlashAttention", "cuDNN")
    ]
    gradients, all_of_it = "FlashAttention, all gradients", ", causal=0"
    back = torch("flash_dkdv", wide + all_of_it, gradients)["torch_TFLOP/s"]
    theirs = torch("flash_dkdv", narrow + all_of_it, gradients)
    ours = theirs["us"] + run("flash_dq/tuned", narrow + all_of_it)["us"]
    said = prose("11_attention_backward")
    assert (
        f"forward {forward[0]:.0f} TFLOP/s with PyTorch's FlashAttention-2 and {forward[1]:.0f}"
        in said
    )
    assert f"all gradients {back:.0f} with the former" in said
    assert f"take {ours / 1000:.1f} ms for heads of 64" in said
    assert f"FlashAttention-2's backward takes {theirs['torch_us'] / 1000:.1f} (" in said


def test_lesson_03_quotes_the_speeds_of_small_grids() -> None:
    long = "N=67108864"
    dots = rate("dot", long), rate("dot", f"{long}, BLOCKS=1056")
    counts = rate("histogram", long), rate("histogram", f"{long}; grid 1056")
    said = prose("03_shared_memory")
    assert f"{dots[0]} GB/s with 16 blocks and {dots[1]} with 1,056" in said
    assert f"{counts[0]} GB/s with its 8 blocks and {counts[1]} with 1,056" in said


def test_lesson_13_quotes_the_speeds_of_rings_and_of_specialised_warps() -> None:
    size = "M=4096, N=4096, K=4096"
    ring, specialised = run("hopper_matmul", size), run("specialised_matmul", size)
    wide, wide_specialised, six, single = (
        round(run(f"{kernel}_matmul/{name}", size)["TFLOP/s"])
        for kernel, name in (
            *(("hopper", "tiles_of_128"), ("specialised", "tiles_of_128")),
            *(("specialised", "six_stages"), ("hopper", "one_buffer_in_use")),
        )
    )
    plain = round(ring["TFLOP/s"])
    said = prose("13_modern")
    assert f"| one buffer in use | {single} | | the ring | {plain} |" in said
    assert f"128 x 128 | {wide} | | cuBLAS | {ring['torch_TFLOP/s']:.0f} |" in said
    assert f"it makes {specialised['TFLOP/s']:.0f} TFLOP/s, and the ring made {plain}." in said
    assert f"with six it makes {six}, with tiles" in said
    assert f"three of them {wide_specialised}." in said


def test_lesson_13_quotes_the_speeds_of_what_moves_bytes() -> None:
    scaled, long = "M=65536, N=2048", "N=67108864"
    said = prose("13_modern")
    torchs = f"{run('tma_scale', scaled)['torch_GB/s']:,.0f}"
    assert f"{rate('tma_scale', scaled)} GB/s on an H200" in said
    assert f"`factor * X` has {torchs}." in said
    assert f"the kernel moves {rate('mx_quantise', long)} GB/s" in said
    assert f"numbers at {run('mx_quantise', long)['torch_GB/s']:.0f}." in said
    assert f"instead of 32 it is {rate('mx_quantise/eight_groups', long)}:" in said


def test_lesson_07_quotes_the_speeds_of_rows_on_32_warps() -> None:
    floats = run("softmax_one_pass/tuned", "M=8192, N=32768")
    halves = run("softmax_one_pass/tuned", "M=16384, N=32768")
    assert (
        f"Rows of 32,768 numbers on 32 warps move {floats['GB/s']:,.0f} GB/s on an H200 in "
        f"float32, and {halves['GB/s']:,.0f} in float16; PyTorch's softmax moves "
        f"{floats['torch_GB/s']:,.0f} and {halves['torch_GB/s']:,.0f}."
    ) in prose("07_softmax")


def test_what_loses_at_full_size_is_what_the_lessons_explain() -> None:
    flagged = [sentence.split(" ")[0] for sentence in RECORD["flagged"]]
    assert flagged == [
        "softmax_online",
        "softmax_online",
        "layernorm",
        "paged_decode",
        "index_2d/tuned",
        "stencil_halo/tuned",
        "histogram/tuned",
        "softmax_one_pass/tuned",
        "flash_decode/tuned",
        "rmsnorm",
    ]


def test_lesson_09_quotes_what_tuned_tiles_bring() -> None:
    said = prose("09_fusion")
    small, large = (run("triton_matmul/tuned", f"M={n}") for n in (4096, 8192))
    assert (
        f"{small['TFLOP/s']:.0f} TFLOP/s for 4096, where cuBLAS has {small['torch_TFLOP/s']:.0f}, "
        f"and at {large['TFLOP/s']:.0f} for 8192, where it has {large['torch_TFLOP/s']:.0f}."
    ) in said
    epilogue = run("matmul_epilogue/tuned", "M=4096")
    times = f"takes {epilogue['us']:.0f} us, and eager PyTorch {epilogue['torch_us']:.0f} in"
    assert times in said
    tall, square = (run("gated_linear/tuned", f"M={m}") for m in (65536, 4096))
    assert f"it reaches {tall['TFLOP/s']:.0f}, and a compiled layer" in said
    assert f"as yours does, {tall['torch_TFLOP/s']:.0f}; at 4096" in said
    assert (
        f"little of that is left, {square['TFLOP/s']:.0f} to {square['torch_TFLOP/s']:.0f}." in said
    )


def test_lesson_10_quotes_what_tuned_attention_reaches() -> None:
    heads = "H=32, N=8192, D=64"
    beside = {
        peer: next(
            r
            for r in RECORD["runs"]
            if r["kernel"] == "flash_forward/tuned"
            and r["case"].startswith(heads)
            and r["case"].endswith(f"beside {peer}")
        )
        for peer in ("FlashAttention", "cuDNN")
    }
    assert (
        f"reaches {beside['FlashAttention']['TFLOP/s']:.0f} TFLOP/s, PyTorch's FlashAttention-2 "
        f"{beside['FlashAttention']['torch_TFLOP/s']:.0f} and cuDNN's kernel "
        f"{beside['cuDNN']['torch_TFLOP/s']:.0f}."
    ) in prose("10_attention")


def test_lesson_09_says_what_compiling_the_gated_layer_gives() -> None:
    wide, cube = json.loads((DOCS / "gated_linear.json").read_text())["rows"]
    said = prose("09_fusion")
    assert f"reaches **{wide['eager']:.0f}**" in said
    assert f"from {wide['eager']:.0f} TFLOP/s in eager PyTorch to {wide['compiled']:.0f}" in said
    assert f"it goes from {cube['eager']:.0f} to {cube['compiled']:.0f}" in said
    ours = run("gated_linear", "M=65536, N=512, K=512")["TFLOP/s"]
    assert f"stands in between, at {ours:.0f}" in said


def test_lesson_09_says_that_the_epilogue_is_no_faster_behind_a_slower_product() -> None:
    found = run("matmul_epilogue", "M=4096, N=4096, K=4096")
    assert f"the solution takes {found['us']:.0f} us" in prose("09_fusion")
    assert f"two small kernels, {found['torch_us']:.0f}" in prose("09_fusion")


def test_lesson_08_says_what_rows_a_program_give() -> None:
    case = "M=32768, D=4096; x float16, w float16, b float16, y float16"
    four, one = rate("layernorm/tile_of_four_rows", case), rate("layernorm", case)
    assert f"{four} GB/s with four rows and {one} with one" in prose("08_norms")
