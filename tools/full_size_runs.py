"""What `tools.full_size` runs: sizes, what each solution replaces, and PyTorch's operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from course.spec.draws import Draw, integers
from course.spec.exercise import Case, halves


@dataclass(frozen=True)
class Run:
    """One kernel at one size.

    Attributes:
        kernel: an exercise's name, or `EXERCISE/WITNESS` for one of its witnesses.
        sizes: as in a case of the exercise.
        replaces: kernels that its lesson calls worse, which run at the same sizes.
        of_torch: it is to be at least this many times as fast as PyTorch.
        of_copy: its bytes are to move at least at this share of a copy's rate.
        limit: what keeps it from that, where it does not get there and the reason is known.
        operations: a formula; without one the bytes that have to move are counted.
        constants: instead of what the cell chose.
        grid: instead of the one that the check launches.
        block: threads along x and y, instead of those that the check launches.
        beside: PyTorch's way to do it, where another than the exercise's usual one.
    """

    kernel: str
    sizes: Mapping[str, int]
    replaces: tuple[str, ...] = ()
    of_torch: float = 0.0
    of_copy: float = 0.0
    limit: str = ""
    operations: str = ""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    draws: Mapping[str, Draw] = field(default_factory=dict)
    transposed: tuple[str, ...] = ()
    constants: Mapping[str, int] = field(default_factory=dict)
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    beside: str = ""

    @property
    def label(self) -> str:
        """Sizes, dtypes and what else is special, as it tells runs of one kernel apart."""
        grid = f"grid {' x '.join(map(str, self.grid))}" if self.grid else ""
        block = f"blocks of {' x '.join(map(str, self.block))}" if self.block else ""
        sizes = dict(self.sizes) | dict(self.constants)
        case = Case(sizes, dtypes=self.dtypes, transposed=self.transposed).label
        beside = f"beside {self.beside}" if self.beside else ""
        return "; ".join(part for part in (case, grid, block, beside) if part)

    @property
    def because(self) -> str:
        """The reason as the end of a sentence."""
        return f": {self.limit}" if self.limit else ""


def _cube(side: int) -> dict[str, int]:
    """Sizes of a product of square matrices."""
    return dict.fromkeys("MNK", side)


def _runs(
    kernels: str, sizes: Mapping[str, int], of_copy: float = 0.0, limit: str = "", **more: Any
) -> tuple[Run, ...]:
    """A run for each kernel named, each of which replaces the ones before it.

    Args:
        of_copy, limit: of the last one.
    """
    names = kernels.split()
    runs = [Run(name, sizes, replaces=tuple(names[:i]), **more) for i, name in enumerate(names)]
    return *runs[:-1], replace(runs[-1], of_copy=of_copy, limit=limit)


#: The share of a copy's rate that a kernel limited by memory is to reach.
NEARLY = 0.9
READ_TWICE = "a row is read twice, and counted once"
LONG = {"N": 1 << 26}
WIDE = {"M": 8192, "N": 8192}
ROWS = {"M": 65_536, "N": 1024}
PRODUCT = "2 * M * N * K"
SCORES = "4 * H * N * N * D / (1 + causal)"
_SOFTMAX, _NORM = halves("x", "out"), halves("x", "w", "b", "y")
HEADS = {"H": 16, "N": 4096, "D": 64}
PAGES = {"S": 64, "P": 128, "PAGE": 64, "G": 8, "R": 4, "D": 128}
LONG_HEADS = {"H": 8, "N": 131_072, "D": 64, "GAP": 0}
LOGITS = {"M": 8192, "V": 32_768, "PAD": 0}
TARGETS = {"targets": integers(0, 32_768)}
TALL = {"M": 32_768, "D": 4096}
WIDE_ROWS, FLOAT_ROWS = {"M": 16_384, "N": 32_768}, {"M": 8192, "N": 32_768}
DEEP = {"M": 64, "N": 64, "K": 65_536}
ROPE = {"N": 16_384, "H": 32, "R": 64}
_BACKWARD = halves("x", "w", "dy", "dx")
_MANY_HEADS = {"H": 32, "N": 8192}
_ATTENDED = halves("q", "k", "v", "out")
_GRADIENTS = halves("q", "k", "v", "dout", "dk", "dv", "dq")
COMPILED = "torch.compile"
#: What `torch.compile` makes of PyTorch's expression, beside some of them.
BESIDE_COMPILED: tuple[Run, ...] = tuple(
    replace(run, beside=COMPILED)
    for run in (
        Run("triton_add", LONG),
        Run("wave_energy", LONG),
        Run("row_scale", WIDE),
        Run("softmax_one_pass", {"M": 32_768, "N": 4096}, dtypes=_SOFTMAX, of_torch=1.0),
        Run("softmax_one_pass/tuned", WIDE_ROWS, dtypes=_SOFTMAX, of_torch=1.0),
        Run("softmax_one_pass/tuned", FLOAT_ROWS, of_torch=1.0),
        Run("rmsnorm", TALL, dtypes=halves("x", "w", "y"), of_torch=1.0),
        Run(
            "rmsnorm",
            {"M": 32_768, "D": 8192},
            dtypes=halves("x", "w", "y"),
            of_torch=1.0,
            limit=(
                "that kernel reads a row twice, the second time from the L1 cache. Written so with "
                "16 warps, the same kernel was measured at 253 us"
            ),
        ),
        Run("layernorm", TALL, dtypes=_NORM, of_torch=1.0),
        Run("layernorm", {"M": 32_768, "D": 8192}, dtypes=_NORM, of_torch=1.0),
        Run(
            "cross_entropy/tuned",
            LOGITS,
            dtypes=halves("logits"),
            draws=TARGETS,
            of_torch=1.0,
        ),
        Run("matmul_epilogue/tuned", _cube(4096), operations=PRODUCT),
    )
)
#: Honest variants made for an H200, and how fast they are to be beside a copy, or a library's own.
TUNED: tuple[Run, ...] = (
    Run("double/tuned", LONG, grid=(65_536,), of_copy=NEARLY),
    Run("vector_add/tuned", LONG, grid=(65_536,), of_copy=NEARLY),
    Run(
        "index_2d/tuned",
        WIDE,
        grid=(8, 8192),
        block=(256, 1),
        of_copy=NEARLY,
        limit=(
            "its loads lie a grid apart, as the check's launch has a thread for each cell. A block "
            "apart, the same four were measured at 0.98"
        ),
    ),
    Run("saxpy_grid_stride/tuned", LONG | {"G": 4224}, of_copy=NEARLY),
    Run("shared_reverse/tuned", {"B": 1 << 19}, grid=(1 << 17,), of_copy=NEARLY),
    Run("transpose_padded/tuned", WIDE, grid=(256, 128), block=(32, 8), of_copy=NEARLY),
    Run(
        "stencil_halo/tuned",
        LONG,
        grid=(65_536,),
        of_copy=NEARLY,
        limit=(
            "it adds seven cells of shared memory: without the neighbours, or with one of them, "
            "the same kernel was measured at 0.90"
        ),
    ),
    Run("row_sum/tuned", ROWS, of_copy=NEARLY),
    Run(
        "histogram/tuned",
        LONG,
        grid=(1056,),
        of_copy=NEARLY,
        limit=(
            "not for its atomics: a kernel that adds the numbers up instead was measured at 0.86. "
            "dot, which reads two arrays, gets there"
        ),
    ),
    Run(
        "softmax_one_pass/tuned",
        WIDE_ROWS,
        dtypes=_SOFTMAX,
        of_copy=NEARLY,
        of_torch=1.0,
        limit=(
            "a program has all of an SM's registers, so that nothing loads while it waits for a "
            "row's sum. Of a row of as many floats, which are twice as many bytes, it gets there"
        ),
    ),
    Run("softmax_one_pass/tuned", FLOAT_ROWS, of_copy=NEARLY, of_torch=1.0),
    Run("cross_entropy/tuned", LOGITS, dtypes=halves("logits"), draws=TARGETS, of_copy=NEARLY),
    Run("rmsnorm_backward/tuned", TALL, dtypes=_BACKWARD, of_copy=NEARLY),
    *(Run("triton_matmul/tuned", _cube(n), operations=PRODUCT, of_torch=0.9) for n in (4096, 8192)),
    Run("matmul_epilogue/tuned", _cube(4096), operations=PRODUCT, of_torch=1.0),
    *(
        Run(
            "gated_linear/tuned",
            {"M": m, "N": n, "K": k},
            operations="4 * M * N * K",
            beside=COMPILED,
            of_torch=1.0,
        )
        for m, n, k in ((65_536, 512, 512), (16_384, 1024, 1024), (4096, 4096, 4096))
    ),
    Run(
        "flash_decode/tuned",
        LONG_HEADS,
        dtypes=_ATTENDED,
        of_copy=NEARLY,
        limit=(
            "the kernel that combines the chunks takes 4 of the 80 us. The chunks alone have 0.86, "
            "and PyTorch's kernels 0.85"
        ),
    ),
    Run("paged_decode/tuned", PAGES, of_copy=NEARLY),
    *(
        Run(
            f"{kernel}/tuned",
            _MANY_HEADS | {"D": width, "GAP": 0},
            operations=f"{products} * H * N * N * D",
            dtypes=_ATTENDED,
            beside=peer + rule,
            of_torch=least,
        )
        for kernel, products, rule in (("flash_forward", 4, ""), ("flash_causal", 2, ", causal"))
        for width, of_cudnn in ((64, 0.9), (128, 0.8))
        for peer, least in (("FlashAttention", 1.4), ("cuDNN", of_cudnn))
    ),
    *(
        Run(
            f"{kernel}/tuned",
            _MANY_HEADS | {"D": width, "causal": causal},
            operations=f"{products} * {SCORES}",
            dtypes=_GRADIENTS,
            beside=peer,
        )
        for width in (64, 128)
        for causal, rule in ((0, ""), (1, ", causal"))
        for kernel, products, peer in (
            ("flash_dkdv", "2", f"FlashAttention{rule}, all gradients"),
            ("flash_dq", "1.5", ""),
        )
    ),
)

RUNS: tuple[Run, ...] = (
    Run("double", LONG),
    Run("vector_add", LONG),
    Run("index_2d", WIDE),
    Run("saxpy_grid_stride", LONG | {"G": 4224}),
    Run("divergence", {"N": 1 << 25}),
    Run("column_or_row", WIDE),
    Run("padded_rows", {"M": 8192, "N": 8193}),
    Run("shared_reverse", {"B": 1 << 19}),
    *_runs("transpose transpose_padded", WIDE),
    Run("stencil_halo", LONG),
    Run("block_sum", LONG),
    Run("row_sum", ROWS),
    Run("dot", LONG),
    Run("dot", LONG, constants={"BLOCKS": 1056}),
    Run("dot_any_block", LONG | {"THREADS": 192}),
    Run("warp_sum", LONG),
    Run("prefix_sum", LONG),
    Run("histogram", LONG),
    Run("histogram", LONG, grid=(1056,)),
    Run("five_mistakes", ROWS),
    *_runs(
        "matmul_naive matmul_tiled matmul_coarse_1d/local_array matmul_coarse_1d/rows_by_range "
        "matmul_coarse_1d matmul_coarse",
        _cube(2048),
        operations=PRODUCT,
    ),
    Run("matmul_a_stationary", _cube(2048), operations=PRODUCT),
    Run("repeat_multiply", LONG | {"k": 16}),
    Run("half_the_bytes", LONG),
    Run("triton_add", LONG),
    Run("wave_energy", LONG),
    Run("row_scale", WIDE),
    Run("row_scale", WIDE, transposed=("x",)),
    Run("triple_sigmoid_backward", LONG),
    Run("dequantize", {"M": 16_384, "K": 8192}),
    *_runs(
        "softmax_three_pass softmax_online softmax_one_pass",
        {"M": 32_768, "N": 4096},
        dtypes=_SOFTMAX,
    ),
    *_runs(
        "softmax_three_pass softmax_online",
        WIDE_ROWS,
        dtypes=_SOFTMAX,
        of_copy=NEARLY,
        limit=READ_TWICE,
    ),
    *_runs(
        "softmax_three_pass softmax_online",
        {"M": 2048, "N": 131_072},
        of_copy=NEARLY,
        limit=READ_TWICE,
    ),
    Run("rmsnorm", {"M": 32_768, "D": 8192}, dtypes=halves("x", "w", "y"), of_torch=1.0),
    *(
        run
        for width in (1024, 4096, 8192)
        for run in (
            *_runs(
                "layernorm/tile_of_four_rows layernorm/row_by_row layernorm",
                {"M": 32_768, "D": width},
                dtypes=_NORM,
            ),
            *(
                Run(
                    "layernorm/tile_of_four_rows",
                    {"M": 32_768, "D": width},
                    dtypes=_NORM,
                    constants={"ROWS": rows},
                )
                for rows in (2, 8)
            ),
        )
    ),
    Run("cross_entropy", LOGITS, dtypes=halves("logits"), draws=TARGETS, of_torch=1.0),
    Run("rmsnorm_backward", TALL, dtypes=_BACKWARD, of_torch=1.0),
    Run("triton_matmul", _cube(4096), operations=PRODUCT),
    *_runs("triton_matmul grouped_order", _cube(8192), operations=PRODUCT),
    Run("matmul_epilogue", _cube(4096), operations=PRODUCT),
    Run("gated_linear", {"M": 65_536, "N": 512, "K": 512}, operations="4 * M * N * K"),
    *(
        run
        for size in (4096, 8192)
        for run in _runs(
            "quantised_matmul/one_part quantised_matmul",
            {"M": 16, "N": size, "K": size},
            of_torch=1.0,
        )
    ),
    *_runs("quantised_matmul/one_part quantised_matmul", {"M": 64, "N": 8192, "K": 8192}),
    Run("quantised_matmul", _cube(4096), operations=PRODUCT),
    *_runs("triton_matmul split_k/nobody_shares split_k/sixteen_parts split_k", DEEP),
    Run("split_k/sixty_four_parts", DEEP),
    Run("split_k/two_hundred_parts", DEEP),
    *_runs("triton_matmul split_k", {"M": 128, "N": 256, "K": 16_384}),
    *_runs("attend_one_query flash_decode", LONG_HEADS, dtypes=_ATTENDED),
    Run("flash_gqa", {"G": 8, "R": 8, "N": 65_536, "D": 64, "GAP": 0}, dtypes=_ATTENDED),
    *(
        Run(
            kernel,
            HEADS | {"GAP": 0},
            operations="4 * H * N * N * D",
            dtypes=_ATTENDED,
            beside=beside,
        )
        for kernel, beside in (
            ("flash_forward", ""),
            ("flash_forward", "unfused attention"),
            ("flash_forward/keys_64_on_four_warps", ""),
        )
    ),
    Run("flash_causal", HEADS | {"GAP": 0}, operations="2 * H * N * N * D", dtypes=_ATTENDED),
    *(
        Run(kernel, HEADS | {"causal": causal}, operations=products, dtypes=dtypes)
        for causal in (0, 1)
        for kernel, products, dtypes in (
            ("flash_lse", SCORES, _ATTENDED),
            ("flash_dkdv", f"2 * {SCORES}", halves("q", "k", "v", "dout", "dk", "dv")),
            ("flash_dq", f"1.5 * {SCORES}", halves("q", "k", "v", "dout", "dq")),
        )
    ),
    Run("flash_delta", {"H": 64, "N": 8192, "D": 64}, dtypes=halves("out", "dout")),
    Run("tma_scale", {"M": 65_536, "N": 2048, "FACTOR": 3}),
    *(
        run
        for kernels in (
            "hopper_matmul/one_buffer_in_use hopper_matmul hopper_matmul/tiles_of_128",
            "specialised_matmul/waits_for_its_own_product specialised_matmul"
            " specialised_matmul/six_stages",
            "specialised_matmul/tiles_of_128",
        )
        for run in _runs(kernels, _cube(4096), operations=PRODUCT)
    ),
    *_runs("mx_quantise/eight_groups mx_quantise", LONG, of_torch=1.0),
    *_runs(
        "paged_decode/cache_gathered_first paged_decode",
        PAGES,
        of_copy=NEARLY,
        limit=(
            "a program reads all of a sequence, and sequences are of 1 to 8,192 tokens: at the end "
            "the longest ones read alone. With sequences of one length the same kernel was "
            "measured at 1.03, and with parts of sequences the tuned one gets there"
        ),
    ),
    *_runs(
        "int4_matvec/weights_written_out_first int4_matvec",
        {"N": 16_384, "K": 8192, "GROUP": 128},
        of_torch=1.0,
    ),
    Run("grouped_gemm", {"M": 256, "N": 1024, "K": 4096, "E": 64}),
    Run("grouped_gemm", {"M": 16_384, "N": 2048, "K": 2048, "E": 16}, operations=PRODUCT),
    *_runs(
        "linear_cross_entropy/logits_through_memory linear_cross_entropy",
        {"M": 4096, "V": 32_768, "D": 2048},
        operations="2 * M * V * D",
    ),
    *_runs(
        "loss_gradient/probabilities_stored_first loss_gradient",
        {"M": 8192, "V": 32_768},
        dtypes=halves("logits"),
    ),
    Run("rope_heads", ROPE, dtypes=halves("x", "w", "out"), of_torch=1.0),
    Run("rope_heads/a_token_a_program", ROPE, dtypes=halves("x", "w", "out")),
    *TUNED,
    *BESIDE_COMPILED,
)


#: from torch and a launch's arguments to a call
_Maker = Callable[[Any, Mapping[str, Any]], Callable[[], Any]]


def peer_of(
    torch: Any, name: str, given: Mapping[str, Any], beside: str = ""
) -> Callable[[], Any] | None:
    """PyTorch's own way to an exercise's first result, or the one that is `beside` it.

    None where PyTorch has none.
    """
    if beside == COMPILED:
        torch.compiler.reset()  # after some shapes it would run eager code
        call = (_FOR_COMPILER.get(name) or _PEERS[name])(torch, given)
        compiled: Callable[[], Any] = torch.compile(call)
        return compiled
    maker = _PEERS.get(beside or name)
    return None if maker is None else maker(torch, given)


def left_by_forward(torch: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """lse and delta of attention, as the exercises of lesson 11 get them."""
    rows: dict[str, list[Any]] = {"lse": [], "delta": []}
    arrays = [given[name].float() for name in ("q", "k", "v", "dout")]
    for q, k, v, dout in zip(*arrays, strict=True):
        scores = q @ k.T / q.shape[1] ** 0.5
        if given["causal"]:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        rows["lse"].append(scores.logsumexp(1))
        rows["delta"].append((scores.softmax(1) @ v * dout).sum(1))
    return {name: torch.stack(found) for name, found in rows.items()}


def _attention(torch: Any, given: Mapping[str, Any], causal: bool = False) -> Callable[[], Any]:
    q, k, v = (given[name][None] for name in ("q", "k", "v"))
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q, k, v, is_causal=causal)[0]


def _by(backend: str, causal: bool, gradients: bool = False) -> _Maker:
    """Attention, or all its gradients, by a backend that PyTorch would not always take itself."""

    def maker(torch: Any, given: Mapping[str, Any]) -> Callable[[], Any]:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        given = {n: given[n].detach().requires_grad_(gradients) for n in ("q", "k", "v")} | {
            "dout": given.get("dout")
        }
        attend = _attention(torch, given, causal)

        def forward() -> Any:
            with sdpa_kernel(getattr(SDPBackend, backend)):
                return attend()

        if not gradients:
            return forward
        out, inputs = forward(), [given[name] for name in ("k", "v", "q")]
        grad = torch.autograd.grad
        return lambda: grad(out, inputs, given["dout"], retain_graph=True)[0]

    return maker


def _unfused(torch: Any, given: Mapping[str, Any]) -> Callable[[], Any]:
    q, k, v = (given[name] for name in ("q", "k", "v"))
    return lambda: torch.softmax(q @ k.mT * q.shape[2] ** -0.5, -1) @ v


def _one_query(torch: Any, given: Mapping[str, Any]) -> Callable[[], Any]:
    q, k, v = given["q"], given["k"], given["v"]
    grouped = q.view(1, k.shape[0], -1, q.shape[1])  # query heads of one group as rows
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(grouped, k[None], v[None]).reshape(q.shape)


def _quantised(torch: Any, given: Mapping[str, Any]) -> Callable[[], Any]:
    """The same product with weights that were stored in float16."""
    wide = (given["w"].float() * given["scale"]).half()
    return lambda: given["x"] @ wide


def _from_int4(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    """The same product with weights that were stored in float16."""
    packed = g["w"].view(*g["scale"].shape, -1)
    numbers = torch.cat([packed & 15, packed >> 4], 2).half() - 8
    wide = (numbers * g["scale"][:, :, None]).flatten(1)
    return lambda: wide @ g["x"]


def _in_mx(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    """MXFP8 by whole-array operations: exponents, scaled numbers, 8-bit floats."""

    def quantise() -> Any:
        groups = g["x"].view(-1, 32)
        byte = (torch.frexp(groups.abs().amax(1)).exponent - 1 + 127 - 8).clamp(0, 254)
        scaled = torch.ldexp(groups, 127 - byte[:, None]).clamp(-448, 448)
        return scaled.to(torch.float8_e4m3fn).view(torch.uint8).flatten()

    return quantise


def _by_expert(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    """A product for each expert that has rows, whose number the host knows beforehand."""
    ends = g["offsets"].tolist()
    busy = [(e, slice(*ends[e : e + 2])) for e in range(len(g["w"])) if ends[e] < ends[e + 1]]
    return lambda: torch.cat([g["x"][rows] @ g["w"][e] for e, rows in busy])


def _loss(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    loss = torch.nn.functional.cross_entropy
    return lambda: loss((g["x"] @ g["w"].T).float(), g["targets"], reduction="none")


def _gated(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: torch.sigmoid(g["x"] @ g["w1"] + g["b1"]) * (g["x"] @ g["w2"] + g["b2"])


def _rmsnorm_backward(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    x, w = (g[name].clone().requires_grad_() for name in ("x", "w"))
    y = torch.nn.functional.rms_norm(x, (g["D"],), w, g["eps"])
    return lambda: torch.autograd.grad(y, (x, w), g["dy"], retain_graph=True)[0]


def _rope_heads(torch: Any, g: Mapping[str, Any]) -> Callable[[], Any]:
    """Norm, rotation and transposition as a model's code has them, in the dtype of x."""
    cos, sin = (g[name].to(g["x"].dtype)[:, None] for name in ("cos", "sin"))

    def turned() -> Any:
        y = torch.nn.functional.rms_norm(g["x"], g["w"].shape, g["w"], g["eps"])
        a, b = y.chunk(2, dim=2)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], 2).transpose(0, 1).contiguous()

    return turned


_PEERS: dict[str, _Maker] = {
    "double": lambda torch, g: lambda: g["x"] * 2,
    "vector_add": lambda torch, g: lambda: g["a"] + g["b"],
    "transpose": lambda torch, g: lambda: g["A"].t().contiguous(),
    "transpose_padded": lambda torch, g: lambda: g["A"].t().contiguous(),
    "row_sum": lambda torch, g: lambda: g["a"].sum(1),
    "dot": lambda torch, g: lambda: g["a"] @ g["b"],
    "dot_any_block": lambda torch, g: lambda: g["a"] @ g["b"],
    "histogram": lambda torch, g: lambda: torch.bincount(g["data"], minlength=64),
    "five_mistakes": lambda torch, g: lambda: g["a"].amax(1),
    "half_the_bytes": lambda torch, g: lambda: (g["x"].float() * g["w"] * g["scale"]).half(),
    "triton_add": lambda torch, g: lambda: g["x"] + g["y"],
    "row_scale": lambda torch, g: lambda: g["x"] * g["scale"][:, None],
    "wave_energy": lambda torch, g: lambda: torch.sin(g["x"]) ** 2 + torch.cos(g["x"]) ** 2 / 2,
    "dequantize": lambda torch, g: lambda: (g["q"] * g["scale"][:, None]).half(),
    "rmsnorm": lambda torch, g: (
        lambda: torch.nn.functional.rms_norm(g["x"], (g["D"],), g["w"], g["eps"])
    ),
    "layernorm": lambda torch, g: (
        lambda: torch.nn.functional.layer_norm(g["x"], (g["D"],), g["w"], g["b"], g["eps"])
    ),
    "cross_entropy": lambda torch, g: (
        lambda: torch.nn.functional.cross_entropy(g["logits"], g["targets"], reduction="none")
    ),
    "rmsnorm_backward": _rmsnorm_backward,
    "rope_heads": _rope_heads,
    "matmul_epilogue": lambda torch, g: (
        lambda: torch.nn.functional.gelu(g["x"] @ g["w"] + g["bias"])
    ),
    "gated_linear": _gated,
    "quantised_matmul": _quantised,
    "int4_matvec": _from_int4,
    "tma_scale": lambda torch, g: lambda: g["factor"] * g["X"],
    "mx_quantise": _in_mx,
    "grouped_gemm": _by_expert,
    "linear_cross_entropy": _loss,
    "attend_one_query": _one_query,
    "flash_decode": _one_query,
    "flash_gqa": _one_query,
    "flash_forward": _attention,
    "unfused attention": _unfused,
    "flash_causal": lambda torch, g: _attention(torch, g, causal=True),
    "flash_lse": lambda torch, g: _attention(torch, g, causal=bool(g["causal"])),
}
_PEERS |= {
    name: lambda torch, g: lambda: torch.softmax(g["x"], 1)
    for name in ("softmax_three_pass", "softmax_online", "softmax_one_pass")
}
_PEERS |= {
    name: lambda torch, g: lambda: g["A"] @ g["B"]
    for name in (
        *("matmul_naive", "matmul_tiled", "matmul_coarse_1d", "matmul_coarse"),
        *("matmul_a_stationary", "triton_matmul", "grouped_order", "split_k"),
        *("hopper_matmul", "specialised_matmul"),
    )
}
_PEERS |= {
    f"{library}{rule}": _by(backend, bool(rule))
    for library, backend in (
        ("FlashAttention", "FLASH_ATTENTION"),
        ("cuDNN", "CUDNN_ATTENTION"),
    )
    for rule in ("", ", causal")
}
_PEERS |= {
    f"FlashAttention{rule}, all gradients": _by("FLASH_ATTENTION", bool(rule), gradients=True)
    for rule in ("", ", causal")
}
#: Where the compiler is given another expression: the gated layer's output is float32.
_FOR_COMPILER: dict[str, _Maker] = {
    "gated_linear": lambda torch, g: lambda: _gated(torch, g)().float()
}
