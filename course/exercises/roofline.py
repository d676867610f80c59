"""Lesson 05: what a kernel waits for, and how far from the roof it is."""

from functools import partial
from typing import Any

import numpy as np

from course.spec.draws import uniform
from course.spec.exercise import (
    Array,
    Budget,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    Scalar,
    case,
)
from course.spec.launching import Launch

#: NVIDIA's data sheet of the H200 (SXM): peaks without sparsity, per second.
H200 = {"FP32_FLOP_S": 67e12, "TENSOR_FLOP_S": 989e12, "BYTES_S": 4.8e12}

#: Unit of every share.
SHARE = "a share, 0 to 1"


def _share(text: str, answer: str, rtol: float = 0.01) -> Question:
    """A question whose answer lies between 0 and 1."""
    return Question(text, answer, SHARE, rtol)


#: A question of FLOP per byte.
_intensity = partial(Question, unit="FLOP/byte", rtol=0.01)


intensity = NumberExercise(
    name="intensity",
    title="FLOP per byte",
    task=(
        "Arithmetic intensity of each piece of work: floating-point operations over bytes moved "
        "to or from global memory. A multiply-add counts two operations; a comparison or a "
        "maximum counts one. Unless told otherwise the bytes are the least: every input once, "
        "every output once. The H200's data sheet says 67 TFLOP/s in float32, 989 TFLOP/s for "
        "float16 on tensor cores, and 4.8 TB/s."
    ),
    points=6,
    minutes=30,
    difficulty=2,
    core=True,
    hints=(
        "Take one element: count its operations, count its bytes read and written, divide.",
        "For the matmuls take one step of the loop over k. Naive: a warp's 32 multiply-adds, and "
        "the sectors of its two loads. Tiled: T * T * T multiply-adds of a block, and the two "
        "T x T tiles that it loads for them.",
        "Attention: Q times K transposed and P times V are 2 * N * N * d operations each. An "
        "element of float16 has 2 bytes.",
    ),
    given=H200,
    questions={
        "add": _intensity(
            "float32: c = a + b",
            "1 / 12",
            slips={
                "1 / 8": "c is written too: three arrays move.",
                "1 / 3": "An element of float32 has 4 bytes.",
                "12": "That is bytes per FLOP: turn it over.",
            },
        ),
        "relu_float32": _intensity(
            "float32: y = max(x, 0)",
            "1 / 8",
            slips={"1 / 4": "y is written too: 4 bytes in and 4 bytes out."},
        ),
        "relu_float16": _intensity(
            "float16: y = max(x, 0)",
            "1 / 4",
            slips={
                "1 / 2": "y is written too: 2 bytes in and 2 bytes out.",
                "1 / 8": "An element of float16 has 2 bytes.",
            },
        ),
        "dot": _intensity(
            "float32: the dot product of two long vectors",
            "2 / 8",
            slips={"1 / 8": "A product and an addition for each pair: two operations."},
        ),
        "matmul_1024": _intensity(
            "float32: C = A @ B with 1024 x 1024 matrices, each moved once",
            "2 * 1024**3 / (3 * 4 * 1024**2)",
            slips={
                "1024**3 / (3 * 4 * 1024**2)": "A multiply-add is two operations.",
                "2 * 1024**3 / (2 * 4 * 1024**2)": "C is written too: three matrices move.",
                "2 * 1024**3 / (3 * 1024**2)": "An element of float32 has 4 bytes.",
            },
        ),
        "matmul_naive": _intensity(
            "float32: the naive matmul's requests. In one step of its loop a warp makes 32 "
            "multiply-adds; every lane reads the same element of A, and neighbouring lanes read "
            "neighbouring elements of B",
            "64 / (5 * 32)",
            slips={
                "64 / (8 * 32)": "All 32 lanes read one element of A: one sector, not four.",
                "32 / (5 * 32)": "A multiply-add is two operations.",
            },
        ),
        "matmul_tiled_16": _intensity(
            "float32: the tiled matmul's requests with 16 x 16 tiles",
            "2 * 16**3 / (2 * 16**2 * 4)",
            slips={
                "16**3 / (2 * 16**2 * 4)": "A multiply-add is two operations.",
                "2 * 16**3 / (2 * 16**2)": "An element of float32 has 4 bytes.",
                "2 * 16**3 / (16**2 * 4)": "Two tiles are loaded: one of A and one of B.",
            },
        ),
        "matmul_tiled_64": _intensity(
            "float32: the same with 64 x 64 outputs a block",
            "2 * 64**3 / (2 * 64**2 * 4)",
            slips={
                "64**3 / (2 * 64**2 * 4)": "A multiply-add is two operations.",
                "2 * 64**3 / (2 * 64**2)": "An element of float32 has 4 bytes.",
            },
        ),
        "attention_unfused": _intensity(
            "float16: attention over N = 4096 positions of d = 64. The N x N scores are written "
            "and read, and so are the probabilities: 4 N N elements, beside 4 N d for Q, K, V and "
            "the output. Count the two products and leave the softmax out",
            "4 * 4096**2 * 64 / (2 * (4 * 4096**2 + 4 * 4096 * 64))",
            slips={
                "2 * 4096**2 * 64 / (2 * (4 * 4096**2 + 4 * 4096 * 64))": (
                    "Two products of 2 * N * N * d operations each, and 2 bytes an element."
                ),
                "4 * 4096**2 * 64 / (4 * 4096**2 + 4 * 4096 * 64)": (
                    "An element of float16 has 2 bytes."
                ),
            },
        ),
        "attention_fused": _intensity(
            "float16: the same with nothing of size N x N in memory",
            "4 * 4096**2 * 64 / (2 * 4 * 4096 * 64)",
            slips={
                "2 * 4096**2 * 64 / (2 * 4 * 4096 * 64)": (
                    "Two products of 2 * N * N * d operations each, and 2 bytes an element."
                ),
                "4 * 4096**2 * 64 / (4 * 4096 * 64)": "An element of float16 has 2 bytes.",
            },
        ),
        "knee_float32": _intensity(
            "H200, float32: from which intensity on can the arithmetic be the limit?",
            "FP32_FLOP_S / BYTES_S",
            slips={"BYTES_S / FP32_FLOP_S": "That is bytes per FLOP: turn it over."},
        ),
        "knee_tensor": _intensity(
            "H200, float16 on tensor cores: the same", "TENSOR_FLOP_S / BYTES_S"
        ),
        "relu_tflop_s": Question(
            "H200: the most TFLOP/s that the float32 ReLU can reach",
            "BYTES_S / 8 / 10**12",
            "TFLOP/s",
            0.01,
            slips={
                "FP32_FLOP_S / 10**12": "Memory cannot feed it that fast: 8 bytes a FLOP.",
                "BYTES_S / 8": "That is FLOP/s; a TFLOP/s is 10**12 of them.",
            },
        ),
    },
)

#: Recorded on H200s by tools/record_roofline.py: times in microseconds, rounded to three
#: digits as the lesson prints them. One step of each program, compulsory bytes.
PROFILES: dict[str, dict[str, float]] = {
    "A": {"step_us": 1440, "kernels_us": 1440, "launches": 1, "flop": 1.10e12, "dram": 4.03e8},
    "B": {"step_us": 744, "kernels_us": 744, "launches": 1, "flop": 2.68e8, "dram": 3.22e9},
    "C": {"step_us": 4650, "kernels_us": 970, "launches": 1000, "flop": 1.64e7, "dram": 1.31e8},
    "D": {
        "step_us": 8480,
        "kernels_us": 183,
        "launches": 2,
        "flop": 7.89e10,
        "dram": 6.17e8,
        "host": 1.54e8,
    },
    "E": {
        "step_us": 7050,
        "kernels_us": 1100,
        "launches": 7,
        "flop": 8.25e11,
        "dram": 6.04e8,
        "network": 2.00e9,
    },
}
#: The same records: C as one CUDA graph, D's copy from pinned memory, E's exchange by itself.
GRAPH_US, PINNED_COPY_US, EXCHANGE_US = 1220.0, 2790.0, 5960.0

_WAITS = "what does program {letter} wait for? 1 compute, 2 memory, 3 launches, 4 input, 5 network"


def _waits(letter: str, answer: int, **slips: str) -> Question:
    return Question(
        _WAITS.format(letter=letter),
        str(answer),
        slips={key.removeprefix("if_"): words for key, words in slips.items()},
    )


_BUSY = "The kernels fill the whole step, so the GPU is never idle."
_IDLE = "The kernels take a small part of the step: whatever they do, the GPU is mostly idle."
_NO_INPUT = "Nothing is copied from the host in this step."
_ALONE = "It runs on one GPU: there is nobody to exchange data with."

bottleneck = NumberExercise(
    name="bottleneck",
    title="Five profiles, five things to wait for",
    task=(
        "The table above holds five programs as an H200 ran them (E on two of them), one step "
        "each. Find what each one waits for, and work out what the obvious remedy is worth."
    ),
    points=5,
    minutes=35,
    difficulty=3,
    hints=(
        "First ask whether the GPU is busy: kernel time over step time. Only where it is near 1 "
        "do FLOP/s and bytes/s say anything about the limit.",
        "Where the GPU is idle most of the step, look at what fills the rest: launches times a "
        "few microseconds, bytes from the host, bytes between GPUs.",
        "Two things that overlap perfectly take as long as the slower one: max(a, b), not a + b. "
        "Half the bytes at the same rate take half the time.",
    ),
    given={
        **{
            f"{letter}_{name}".upper(): value
            for letter, row in PROFILES.items()
            for name, value in row.items()
        },
        **H200,
        "GRAPH_US": GRAPH_US,
        "PINNED_COPY_US": PINNED_COPY_US,
        "EXCHANGE_US": EXCHANGE_US,
    },
    questions={
        "A_tflop_s": Question(
            "A: operations over step time",
            "A_FLOP / A_STEP_US / 10**6",
            "TFLOP/s",
            0.02,
            slips={"A_FLOP / A_STEP_US * 10**6": "That is FLOP/s; a TFLOP/s is 10**12 of them."},
        ),
        "A_waits_for": _waits(
            "A", 1, if_2="It moves 0.28 TB/s, a small part of 4.8. Compare its FLOP/s with 989."
        ),
        "B_tb_s": Question(
            "B: bytes over step time",
            "B_DRAM / B_STEP_US / 10**6",
            "TB/s",
            0.02,
            slips={"B_DRAM / B_STEP_US / 10**3": "That is GB/s; a TB/s is 1,000 of them."},
        ),
        "B_waits_for": _waits(
            "B", 2, if_1="It makes 0.36 TFLOP/s of 67. Compare its bytes a second with 4.8 TB/s."
        ),
        "C_busy": _share(
            "C: the share of the step in which the GPU runs a kernel",
            "C_KERNELS_US / C_STEP_US",
            0.02,
        ),
        "C_waits_for": _waits("C", 3, if_2=_IDLE, if_1=_IDLE, if_4=_NO_INPUT, if_5=_ALONE),
        "C_idle_a_launch_us": Question(
            "C: microseconds a launch in which the GPU has nothing to do",
            "(C_STEP_US - C_KERNELS_US) / C_LAUNCHES",
            "us",
            0.02,
            slips={"C_STEP_US / C_LAUNCHES": "The kernels run in a part of that."},
        ),
        "C_graph_speedup": Question(
            "C: launched as one CUDA graph, its step took 1,220 us. How many times faster?",
            "C_STEP_US / GRAPH_US",
            "times",
            0.02,
            slips={"GRAPH_US / C_STEP_US": "Turn it over: how many times as fast."},
        ),
        "D_gb_s": Question(
            "D: all of the step but its kernels is the copy of the batch. At how many GB/s does "
            "it run?",
            "D_HOST / (D_STEP_US - D_KERNELS_US) / 10**3",
            "GB/s",
            0.02,
        ),
        "D_waits_for": _waits(
            "D",
            4,
            if_1=_IDLE,
            if_2=_IDLE,
            if_3="Two launches cost microseconds, not 8,300 of them.",
            if_5=_ALONE,
        ),
        "D_least_us": Question(
            "D: from pinned memory the copy takes 2,790 us. How long is a step at least, if the "
            "next batch is copied while this one is computed?",
            "max(PINNED_COPY_US, D_KERNELS_US)",
            "us",
            0.02,
            slips={
                "PINNED_COPY_US + D_KERNELS_US": "They run at the same time now.",
                "D_KERNELS_US": "The next batch is not there yet when the kernels end.",
            },
        ),
        "E_waits_for": _waits(
            "E",
            5,
            if_1=_IDLE,
            if_2=_IDLE,
            if_3="Seven launches cost microseconds, not 5,950 of them.",
            if_4=_NO_INPUT,
        ),
        "E_least_us": Question(
            "E: the exchange alone takes 5,960 us. How long is a step at least, if gradients are "
            "exchanged as 16-bit numbers while the kernels run?",
            "max(EXCHANGE_US / 2, E_KERNELS_US)",
            "us",
            0.02,
            slips={
                "EXCHANGE_US / 2 + E_KERNELS_US": "They run at the same time now.",
                "EXCHANGE_US": "Half the bytes take half the time.",
                "E_KERNELS_US": "The exchange is still under way when the kernels end.",
            },
        ),
        "A_mfu": _share(
            "A: its MFU, with the tensor cores' 989 TFLOP/s as the peak",
            "A_FLOP / A_STEP_US * 10**6 / TENSOR_FLOP_S",
            0.02,
        ),
        "E_mfu": Question(
            "E: the same for each of its GPUs; the table's FLOP are those of one",
            "E_FLOP / E_STEP_US * 10**6 / TENSOR_FLOP_S",
            SHARE,
            0.02,
            slips={
                "E_FLOP / E_KERNELS_US * 10**6 / TENSOR_FLOP_S": (
                    "That is its kernels' rate: the step takes longer."
                ),
            },
        ),
    },
)


def _repeated(x: np.ndarray, a: float, b: float, k: int) -> dict[str, Any]:
    y = x.copy()
    for _ in range(k):
        y = y * a + b
    return {"y": y}


repeat_multiply = KernelExercise(
    name="repeat_multiply",
    title="k multiply-adds between one load and one store",
    task=(
        "Replace each x[i] by x[i] * a + b, k times over, and write the result to y[i]: for "
        "k = 2, y[i] = (x[i] * a + b) * a + b. k is 1 or more. Whatever k is, read each "
        "element once and write it once."
    ),
    points=5,
    minutes=20,
    difficulty=2,
    hints=(
        "Where can a thread keep a number between two turns of a loop? Not in an array.",
        "A local variable lives in a register of the thread: load before the loop, store after it.",
        "Below the guard: `value = x[i]`, then a loop of k turns that replaces `value`, then one "
        "store.",
    ),
    small=case(N=40, k=3),
    full=case(N=1 << 24, k=16),
    parameters=(
        Array("x", "N"),
        Array("y", "N", Role.OUT),
        Scalar("a", "0.9", "float32"),
        Scalar("b", "0.1", "float32"),
        Scalar("k", "k"),
    ),
    reference=_repeated,
    slips={
        "one step, each from x again": lambda x, a, b, k: _repeated(x, a, b, 1),
        "one step too few": lambda x, a, b, k: _repeated(x, a, b, max(0, k - 1)),
        "one step too many": lambda x, a, b, k: _repeated(x, a, b, k + 1),
        "(y + b) * a, the sum before the product": lambda x, a, b, k: {
            "y": _repeated(x + b, a, a * b, k)["y"] - b
        },
        "x times a to the power of k, and b added once": lambda x, a, b, k: {"y": x * a**k + b},
        "a product with a + b, where b is to be added": lambda x, a, b, k: {"y": x * (a + b) ** k},
        "a and b exchanged": lambda x, a, b, k: _repeated(x, b, a, k),
    },
    cases=(
        case(N=1, k=1),
        case(N=1000, k=2),
        case(N=300, k=7, scalars={"a": 0.5, "b": -0.25}),
        case(True, N=4096, k=16),
    ),
    launch=Launch("cdiv(N, 256)", "256"),
    tolerance={"float32": (1e-5, 1e-6)},
    budget=Budget(
        {"load x": "sectors(N)", "store y": "sectors(N)"},
        why="k does not occur: the work between load and store stays in a register",
    ),
    # the k turns are in no sector
    work="200 + 20 * k",
)

half_the_bytes = KernelExercise(
    name="half_the_bytes",
    title="Half the bytes: float16 in memory, float32 in the arithmetic",
    task=(
        "y[i] = x[i] * w[i] * scale for float16 arrays and a float32 scale. The values go up to "
        "500, so that a product of two may pass 65,504, the largest float16, though y itself "
        "never does. Compute in float32; read and write float16."
    ),
    points=4,
    minutes=20,
    difficulty=2,
    hints=(
        "What is 300 * 300 in float16? Which type has the product of two float16 values in Numba?",
        "`float32(x[i])` is a float32 with the value of x[i]. The load still moves 2 bytes.",
        "Convert before you multiply. Storing a float32 into a float16 array rounds it: nothing "
        "to write for that. One thread an element, with the guard as ever.",
    ),
    small=case(N=40),
    full=case(N=1 << 24),
    parameters=(
        Array("x", "N", dtype="float16", draw=uniform(100.0, 500.0)),
        Array("w", "N", dtype="float16", draw=uniform(100.0, 500.0)),
        Array("y", "N", Role.OUT, dtype="float16"),
        Scalar("scale", "0.01", "float32"),  # no power of two: float16 would round it
    ),
    reference=lambda x, w, scale: {"y": x * w * scale},
    slips={
        "a product of two float16 numbers, which is a float16 too and ends at 65,504": (
            lambda x, w, scale: {"y": (x * w).astype(np.float16).astype(np.float32) * scale}
        ),
        "x * w without the scale": lambda x, w, scale: {"y": (x * w).astype(np.float16)},
    },
    cases=(case(N=1), case(N=1000), case(N=77, scalars={"scale": 0.03}), case(True, N=8192)),
    launch=Launch("cdiv(N, 256)", "256"),
    # one rounding to float16 is at most 4.9e-4, and two are more than this
    tolerance={"float16": (6e-4, 0.0)},
    budget=Budget(
        {"load x": "sectors(N)", "load w": "sectors(N)", "store y": "sectors(N)"},
        why="6 bytes an element: 2 for each of x, w and y",
    ),
)

#: What an SM of an H200 holds at once (compute capability 9.0). 1 KB of shared memory a block
#: is the system's.
SM = {"REGISTERS": 65_536, "THREADS": 2048, "BLOCKS": 32, "SHARED_KB": 228, "RESERVED_KB": 1}

occupancy = NumberExercise(
    name="occupancy",
    title="How many warps live on an SM",
    task=(
        "An SM of an H200 holds at most 65,536 registers, 2,048 threads (64 warps), 32 blocks "
        "and 228 KB of shared memory, of which every resident block costs 1 KB beside its own. "
        "A block is resident whole or not at all. Occupancy is resident warps over 64."
    ),
    points=4,
    minutes=25,
    difficulty=2,
    hints=(
        "Work out four numbers of blocks: what registers, threads, shared memory and the block "
        "limit allow. Round each down. The smallest counts.",
        "Registers a block: registers a thread times threads a block.",
        "Warps = blocks * threads a block / 32; occupancy = warps / 64. For the last question: "
        "which number of registers a thread, times 2,048, is 65,536?",
    ),
    given=SM,
    questions={
        "blocks_32_registers": Question(
            "256 threads, 32 registers a thread, no shared memory: resident blocks",
            "min(REGISTERS // (32 * 256), THREADS // 256, BLOCKS)",
            "blocks",
        ),
        "occupancy_32_registers": _share("the same: occupancy", "1", 0.001),
        "blocks_40_registers": Question(
            "256 threads, 40 registers a thread: resident blocks",
            "REGISTERS // (40 * 256)",
            "blocks",
            slips={
                "REGISTERS / (40 * 256)": "A block is resident whole or not at all.",
                "THREADS // 256": "Eight such blocks need 81,920 registers.",
            },
        ),
        "occupancy_40_registers": _share(
            "the same: occupancy", "REGISTERS // (40 * 256) * 8 / 64", 0.001
        ),
        "occupancy_128_registers": _share(
            "256 threads, 128 registers a thread: occupancy",
            "REGISTERS // (128 * 256) * 8 / 64",
            0.001,
        ),
        "blocks_48_kb": Question(
            "256 threads, 32 registers, 48 KB of shared memory a block: resident blocks",
            "SHARED_KB // (48 + RESERVED_KB)",
            "blocks",
            slips={
                "THREADS // 256": "Eight blocks would need 392 KB of shared memory.",
                "5": "Five blocks would need 245 KB.",
                "SHARED_KB / 48": "A block is resident whole or not at all.",
            },
        ),
        "occupancy_tiny_blocks": Question(
            "32 threads a block, 32 registers: occupancy",
            "BLOCKS / 64",
            SHARE,
            0.001,
            slips={
                "1": "Registers and threads would allow 64 blocks; the SM takes 32.",
            },
        ),
        "occupancy_huge_blocks": Question(
            "1,024 threads a block, 40 registers: occupancy",
            "REGISTERS // (40 * 1024) * 32 / 64",
            SHARE,
            0.001,
            slips={
                "0.75": "A second block needs another 40,960 registers: it has to wait.",
            },
        ),
        "most_registers_for_full": Question(
            "The most registers a thread may use if all 2,048 threads are to be resident",
            "REGISTERS // THREADS",
            "registers",
        ),
    },
)

#: Rounded for the hand: an H200 showed 364 ns to a lone thread and 395 to a warp on each SM
#: (course/gpu/recorded/h200_roofline.json).
LATENCY_NS, SMS = 400, 132

hide_latency = NumberExercise(
    name="hide_latency",
    title="How many bytes must be on their way",
    task=(
        "A load that misses every cache takes 400 ns here, and the memory delivers 4.8 TB/s. "
        "The GPU has 132 SMs with room for 64 warps each. Bytes in flight = latency x bandwidth "
        "(Little's law). A warp that loads one float32 a lane has 128 bytes in flight, and waits."
    ),
    points=4,
    minutes=20,
    difficulty=2,
    hints=(
        "Bytes a second times seconds are bytes. 400 ns are 400e-9 s.",
        "Turned round: bandwidth = bytes in flight / latency. One warp on each SM has "
        "132 * 128 bytes in flight.",
        "For the loads a thread: bytes in flight an SM, over what 64 warps have in flight with "
        "one load each, rounded up.",
    ),
    given={"NS": LATENCY_NS, "SMS": SMS, "BYTES_S": H200["BYTES_S"]},
    questions={
        "in_flight_bytes": Question(
            "Bytes that must be on their way at any moment to use the whole bandwidth",
            "BYTES_S * NS / 10**9",
            "bytes",
            0.01,
            slips={
                "BYTES_S * NS / 10**15": "That is in megabytes: write the bytes.",
                "BYTES_S * NS": "The latency is in nanoseconds: 400e-9 s.",
            },
        ),
        "in_flight_an_sm_bytes": Question(
            "The same for each SM",
            "BYTES_S * NS / 10**9 / SMS",
            "bytes",
            0.01,
            slips={"BYTES_S * NS / 10**12 / SMS": "That is in kilobytes: write the bytes."},
        ),
        "one_warp_gb_s": Question(
            "One warp on each SM, one load at a time: the bandwidth that it reaches",
            "SMS * 128 / NS",
            "GB/s",
            0.01,
            slips={
                "128 / NS": "That is one SM's: there are 132.",
                "SMS * 128 / NS * 10**9": "That is bytes a second; a GB/s is 10**9 of them.",
            },
        ),
        "one_warp_share": _share("As a share of 4.8 TB/s", "SMS * 128 / NS * 10**9 / BYTES_S"),
        "full_sm_gb_s": Question(
            "64 warps on each SM, one load at a time: the bandwidth",
            "SMS * 64 * 128 / NS",
            "GB/s",
            0.01,
            slips={"SMS * 64 * 128 / NS / 1000": "That is in TB/s: write GB/s."},
        ),
        "loads_a_thread": Question(
            "64 warps on each SM: how many loads must each thread have on their way at once to "
            "use the whole bandwidth?",
            "ceil(BYTES_S * NS / 10**9 / (SMS * 64 * 128))",
            "loads",
            slips={
                "BYTES_S * NS / 10**9 / (SMS * 64 * 128)": "A thread has a whole number of loads.",
                "1.78": "A thread has a whole number of loads.",
                "1": "One load each is 1.08 MB in flight, and 1.92 are needed.",
            },
        ),
        "warps_with_16_bytes": Question(
            "Each lane loads 16 bytes at once: how many resident warps an SM are enough?",
            "ceil(BYTES_S * NS / 10**9 / SMS / 512)",
            "warps",
            slips={
                "BYTES_S * NS / 10**9 / SMS / 512": "An SM has a whole number of warps.",
                "28.4": "An SM has a whole number of warps.",
                "28": "28 warps have 14,336 bytes in flight: a little too few.",
            },
        ),
    },
)

#: The A100 has 108 SMs enabled; a cuBLAS kernel for it may use tiles of 256 x 128.
A100_SMS, TILE_ROWS, TILE_COLUMNS = 108, 256, 128

waves = NumberExercise(
    name="waves",
    title="Waves of tiles",
    task=(
        "A matmul gives each tile of the output to one block. An A100 (108 SMs) with room for "
        "one such block an SM works on 108 tiles at once: a wave. The next wave starts when SMs "
        "come free. Tiles are 256 x 128 unless told otherwise. Utilisation is tiles over "
        "(waves x SMs)."
    ),
    points=5,
    minutes=30,
    difficulty=3,
    hints=(
        "Tiles along an axis: the length over the tile's side, rounded up. Tiles in all: the "
        "product. Waves: tiles over places, rounded up.",
        "Two blocks an SM are twice as many places. For the speeds: work over time, and time is "
        "proportional to waves.",
        "Tile quantisation: elements that are wanted over elements in the tiles that cover them.",
    ),
    given={"SMS": A100_SMS, "R": TILE_ROWS, "C": TILE_COLUMNS},
    questions={
        "tiles_1792": Question(
            "n = 1792: tiles of the n x n output", "cdiv(1792, R) * cdiv(1792, C)", "tiles"
        ),
        "waves_1792": Question(
            "n = 1792: waves",
            "cdiv(98, SMS)",
            "waves",
            slips={"98 / SMS": "A wave that is not full takes as long as a full one: round up."},
        ),
        "utilisation_1792": _share("n = 1792: utilisation", "98 / SMS"),
        "tiles_1793": Question(
            "n = 1793: tiles",
            "cdiv(1793, R) * cdiv(1793, C)",
            "tiles",
            slips={"98": "One column more needs a tile of its own, along each axis."},
        ),
        "waves_1793": Question(
            "n = 1793: waves",
            "cdiv(120, SMS)",
            "waves",
            slips={"120 / SMS": "A wave that is not full takes as long as a full one: round up."},
        ),
        "utilisation_1793": Question(
            "n = 1793: utilisation",
            "120 / (2 * SMS)",
            SHARE,
            0.01,
            slips={
                "120 / SMS": "More than 1? Two waves are 216 places.",
            },
        ),
        "speed_ratio": Question(
            "FLOP/s at n = 1793 over FLOP/s at n = 1792, if a wave always takes the same time",
            "1 / 2 * (1793 / 1792)**3",
            "a ratio",
            0.01,
            slips={
                "2": "Two waves take twice as long for the same work.",
                "120 / (2 * SMS) / (98 / SMS)": (
                    "Tiles are not work: most of what the 22 new ones compute is thrown away."
                ),
            },
        ),
        "two_blocks_an_sm": Question(
            "n = 1793 with room for two blocks an SM: waves",
            "cdiv(120, 2 * SMS)",
            "waves",
            slips={"2": "With two blocks an SM there are 216 places."},
        ),
        "waves_8192": Question(
            "n = 8192: waves",
            "cdiv(32 * 64, SMS)",
            "waves",
            slips={"18": "18 waves hold 1,944 tiles.", "18.96": "A part of a wave is a wave."},
        ),
        "utilisation_8192": _share("n = 8192: utilisation", "32 * 64 / (cdiv(32 * 64, SMS) * SMS)"),
        "tiles_257": Question(
            "a 256 x 257 output with tiles of 128 x 128: tiles",
            "2 * cdiv(257, 128)",
            "tiles",
            slips={"4": "The 257th column needs a tile too."},
        ),
        "useful_257": _share(
            "the same: the share of the tiles' elements that are wanted",
            "256 * 257 / (6 * 128 * 128)",
        ),
        "h200_last_single_wave": Question(
            "an H200 (132 SMs, one block an SM): the largest multiple of 256 whose n x n output "
            "is one wave",
            "2048",
            "n",
            slips={"2304": "9 * 18 = 162 tiles are more than 132."},
        ),
    },
)
