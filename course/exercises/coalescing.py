"""Lesson 02: how the addresses of a warp's lanes become sectors."""

from functools import partial
from typing import Any

import numpy as np

from course.spec.exercise import (
    Array,
    Budget,
    Constant,
    KernelExercise,
    NumberExercise,
    Question,
    Role,
    Scalar,
    case,
)
from course.spec.launching import Launch

#: Rows that one thread of `column_or_row` adds up.
STRIP_ROWS = 16

_NO_SHARING = (
    "That counts every lane's element as a sector of its own. Eight neighbouring float32 "
    "values lie in one sector, and the sector is moved once for the request."
)
_NO_STRADDLE = (
    "The 128 bytes no longer begin where a sector begins: the first bytes lie in one sector "
    "and the last ones in another. Count both."
)

#: A question of how many sectors.
_sectors = partial(Question, unit="sectors")


predict_sectors = NumberExercise(
    name="predict_sectors",
    title="Predict the sectors of a request",
    task=(
        "For each access below, say how many 32-byte sectors the request touches. Lane i runs "
        "from 0 to 31. The arrays begin where a sector begins: `a` is float32, `d` float64, "
        "`b` int8. The last two entries are about a whole launch."
    ),
    points=6,
    minutes=25,
    difficulty=2,
    core=True,
    hints=(
        "Write down the byte address of lane 0 and of lane 31: index times bytes an element.",
        "Divide each address by 32 and round down: that is the number of its sector. Then count "
        "how many different numbers the 32 lanes have.",
        "For a whole launch, count each warp by itself and add. Where two warps share a sector, "
        "both ask for it.",
    ),
    questions={
        "aligned": _sectors("lane i reads a[i]", "4", slips={"32": _NO_SHARING}),
        "shifted_by_1": _sectors("lane i reads a[i + 1]", "5", slips={"4": _NO_STRADDLE}),
        "shifted_by_8": _sectors(
            "lane i reads a[i + 8]",
            "4",
            slips={"5": "Eight float32 values are 32 bytes: the shift is one whole sector."},
        ),
        "every_2nd": _sectors(
            "lane i reads a[2 * i]",
            "8",
            slips={"4": "The lanes' elements are spread over twice as many bytes: 256."},
        ),
        "every_3rd": _sectors(
            "lane i reads a[3 * i]",
            "12",
            slips={"32": "A sector holds 8 values, so each one still holds 2 or 3 of these."},
        ),
        "every_8th": _sectors(
            "lane i reads a[8 * i]",
            "32",
            slips={
                "4": "The lanes' elements are spread over 1,024 bytes.",
                "8": "Lanes are 32 bytes apart. How many of them share a sector?",
            },
        ),
        "every_32nd": _sectors(
            "lane i reads a[32 * i]",
            "32",
            slips={
                "128": "A lane that reads 4 bytes inside one sector asks for one sector. What "
                "lies between the lanes' sectors is not moved."
            },
        ),
        "reversed": _sectors(
            "lane i reads a[31 - i]",
            "4",
            slips={"32": "The order of the lanes does not matter, only which sectors they touch."},
        ),
        "broadcast": _sectors(
            "every lane reads a[0]",
            "1",
            slips={"32": "32 lanes, one address, one sector: it is moved once for the request."},
        ),
        "pairs": _sectors(
            "lane i reads a[i // 2]",
            "2",
            slips={"4": "Two lanes share an element: 16 different ones are asked for, 64 bytes."},
        ),
        "first_20_lanes": _sectors(
            "only lanes 0 to 19 are active, and lane i reads a[i]",
            "3",
            slips={
                "4": "Lanes that are switched off ask for nothing.",
                "2.5": "A sector is moved whole or not at all.",
            },
        ),
        "doubles": _sectors(
            "lane i reads d[i], 8 bytes an element",
            "8",
            slips={"4": "An element of d has 8 bytes: 32 of them are 256."},
        ),
        "doubles_shifted": _sectors(
            "lane i reads d[i + 1]",
            "9",
            slips={"8": "Bytes 8 to 263: the last element lies in a sector of its own."},
        ),
        "bytes": _sectors(
            "lane i reads b[i], 1 byte an element",
            "1",
            slips={"4": "An element of b has 1 byte: 32 of them are one sector."},
        ),
        "bytes_shifted": _sectors(
            "lane i reads b[i + 1]", "2", slips={"1": "Bytes 1 to 32. In which sector is byte 32?"}
        ),
        "vector_of_1000": _sectors(
            "a whole launch: thread i of 1024 reads a[i], guarded by i < 1000",
            "cdiv(1000 * 4, 32)",
            slips={"128": "The guard switches 24 lanes of the last warp off."},
        ),
        "vector_of_1000_shifted": _sectors(
            "a whole launch: thread i of 1024 reads a[i + 1], guarded by i < 1000",
            "31 * 5 + 2",
            slips={
                "126": "That is the footprint: every sector once. Where the lanes of two warps "
                "meet inside a sector, both warps ask for it.",
                "160": "The last warp has 8 active lanes, not 32.",
                "31 * 5 + 1": "The last warp's 8 values are bytes 3972 to 4003. How many sectors?",
            },
        ),
    },
)


def _strip_sums(a: np.ndarray, **_: Any) -> dict[str, Any]:
    starts = np.arange(0, a.shape[0], STRIP_ROWS)
    return {"out": np.add.reduceat(a, starts, axis=0)}


column_or_row = KernelExercise(
    name="column_or_row",
    title="Column sums: which index do neighbouring lanes share?",
    task=(
        "Cut the rows of `a` into strips of 16 (the last strip may be shorter) and add up every "
        "column inside every strip: out[s, j] = a[16 * s, j] + a[16 * s + 1, j] + ... One thread "
        "makes one entry of `out`. The launch is one-dimensional with at least as many threads "
        "as `out` has entries: you decide which entry thread t makes."
    ),
    points=5,
    minutes=30,
    difficulty=2,
    hints=(
        "Thread t can find its entry in two ways: count along the rows of `out`, or down its "
        "columns. `t // n` and `t % n` give the two parts, for a suitable n.",
        "Take lanes 0 and 1 of a warp in the first turn of their loops. How many bytes apart are "
        "the elements of `a` that they read? It should be 4.",
        "With `s = t // a.shape[1]` and `j = t % a.shape[1]`, neighbouring threads work on "
        "neighbouring columns of one strip. The loop over the rows, its end and the guard are "
        "left for you.",
    ),
    small=case(M=20, N=3),
    full=case(M=4096, N=4096),
    parameters=(
        Array("a", "M, N"),
        Array("out", f"cdiv(M, {STRIP_ROWS}), N", Role.OUT),
    ),
    reference=_strip_sums,
    magnitude=lambda a, **_: _strip_sums(np.abs(a)),
    slips={
        "the sum of the whole column in every strip": lambda a: {
            "out": np.broadcast_to(a.sum(axis=0), _strip_sums(a)["out"].shape)
        },
        "the rows s, s + strips, s + 2 * strips and so on in strip s": lambda a: {
            "out": np.stack(
                [a[s::n].sum(axis=0) for n in [-(-len(a) // STRIP_ROWS)] for s in range(n)]
            )
        },
        f"the rows s, s + {STRIP_ROWS}, s + {2 * STRIP_ROWS} and so on in strip s": lambda a: {
            "out": np.stack(
                [a[s::STRIP_ROWS].sum(axis=0) for s in range(len(_strip_sums(a)["out"]))]
            )
        },
        "the first row of each strip added twice": lambda a: {
            "out": _strip_sums(a)["out"] + a[::STRIP_ROWS]
        },
        f"the first {STRIP_ROWS - 1} rows of each strip, without the last of {STRIP_ROWS}": (
            lambda a: _strip_sums(
                np.where(np.arange(len(a))[:, None] % STRIP_ROWS < STRIP_ROWS - 1, a, 0.0)
            )
        ),
    },
    cases=(
        case(M=1, N=1),
        case(M=50, N=37),
        case(M=33, N=150),
        case(True, M=512, N=64),
    ),
    launch=Launch(f"cdiv(cdiv(M, {STRIP_ROWS}) * N, 128)", "128"),
    budget=Budget(
        {"load a": "rows(M, N)", "store out": f"rows(cdiv(M, {STRIP_ROWS}), N)"},
        why="each element of a is read once, each sum is written once",
    ),
)


def _scaled_in_place(x: np.ndarray, scale: float, N: int, LD: int, **_: Any) -> dict[str, Any]:
    rows = x.reshape(-1, LD).copy()
    rows[:, :N] *= scale
    return {"x": rows.reshape(-1)}


padded_rows = KernelExercise(
    name="padded_rows",
    title="A leading dimension that keeps tile rows on sectors",
    task=(
        "`x` holds an M x N matrix in one dimension: row i begins at x[i * LD], and LD is N "
        "rounded up to a multiple of ALIGN. The LD - N entries between two rows are padding and "
        "must stay as they are. Multiply every entry of the matrix by `scale`, in place. A "
        "block of 8 x 16 threads works on a tile of 8 columns and 16 rows. Choose ALIGN so that "
        "every row of every tile begins where a sector begins: the least that does it saves "
        "memory, and a larger one does it, too."
    ),
    points=4,
    minutes=25,
    difficulty=2,
    hints=(
        "Row i begins at byte 4 * i * LD. For which LD is that a multiple of 32 for every i?",
        "A tile row is 8 float32 values, 32 bytes: one sector if it begins on one, two "
        "otherwise. The same holds for every row of the matrix only if LD is a multiple of 8.",
        "`col, row = cuda.grid(2)` gives the entry, `row * LD + col` its place. Guard the "
        "columns with N and not with LD; the rows have M.",
    ),
    small=case(M=5, N=8),
    example=case(M=2, N=3, ALIGN=4),
    full=case(M=4096, N=4097),
    parameters=(
        Array("x", "M * cdiv(N, ALIGN) * ALIGN", Role.INOUT),
        Scalar("scale", "1.5", "float32"),
        Scalar("M", "M"),
        Scalar("N", "N"),
        Scalar("LD", "cdiv(N, ALIGN) * ALIGN"),
    ),
    reference=_scaled_in_place,
    slips={
        "the padding scaled, too": lambda x, scale, **_: {"x": x * scale},
        "rows that begin N elements apart": lambda x, scale, M, N, **_: {
            "x": np.where(np.arange(x.size) < M * N, x * scale, x)
        },
        "the padding set to 0": lambda x, scale, N, LD, **_: {
            "x": (x.reshape(-1, LD) * np.where(np.arange(LD) < N, scale, 0.0)).reshape(-1)
        },
    },
    cases=(
        case(M=1, N=1),
        case(M=19, N=21),
        case(M=40, N=9, scalars={"scale": 0.25}),
        case(True, M=128, N=121),
    ),
    launch=Launch(("cdiv(N, 8)", "cdiv(M, 16)"), ("8", "16")),
    constants={"ALIGN": Constant(1, (1, 2, 4, 8, 16, 32, 64))},
    budget=Budget(
        {"load x": "M * cdiv(N, 8)", "store x": "M * cdiv(N, 8)"},
        least={"load x": "M * cdiv(N, 8)", "store x": "M * cdiv(N, 8)"},
        why="one sector a tile row, read once and written once",
    ),
)


#: Counted on an H200 (see `course.gpu.recorded`): points are N x 3 float32.
_POINTS = 4_194_304
_POINTS_L2_SECTORS = 1.6e6
_THREE_PASS_DRAM_MB = 1661

cache_rescue = NumberExercise(
    name="cache_rescue",
    title="What caches forgive, and what they do not",
    task=(
        "Work out what three kernels ask for, and set it beside what an H200's counters saw "
        "behind the caches. Points: N = 4,194,304 rows of 3 float32 (x, y, z), 12 bytes apart, "
        "one thread a point. Row sums: a 256 x 200 matrix of float32. Softmax: 1056 x 131072 "
        "float32."
    ),
    points=5,
    minutes=35,
    difficulty=3,
    hints=(
        "The x values of 32 neighbouring points span 32 * 12 bytes. Which sectors of that span "
        "does a request for the x values touch?",
        "Requested bytes are sectors times 32, summed over requests. The least is each byte of "
        "the array once. The counters behind L1 and L2 lie between the two.",
        "For the share that L1 answered: 1 - (sectors asked of L2) / (sectors asked of L1). For "
        "what must be kept: sectors of one request times 32 bytes, times the warps of an SM.",
    ),
    given={
        "N": _POINTS,
        "L2_SECTORS": _POINTS_L2_SECTORS,
        "THREE_PASS_MB": _THREE_PASS_DRAM_MB,
    },
    questions={
        "x_of_32_points": _sectors(
            "points: sectors that one warp's load of p[i, 0] touches",
            "cdiv(32 * 12, 32)",
            slips={
                "4": "The x values are 12 bytes apart, not 4.",
                "32": "12 bytes apart is closer than 32: most sectors hold the x of 2 or 3 points.",
            },
        ),
        "direct_a_warp": _sectors(
            "points: sectors that a warp's three loads p[i, 0], p[i, 1], p[i, 2] ask for",
            "36",
            slips={"12": "Each of the three loads is a request of its own and touches all 12."},
        ),
        "staged_a_warp": _sectors(
            "points: sectors for the same 32 points when neighbouring lanes read neighbouring "
            "floats, 96 floats in three loads",
            "12",
            slips={"4": "That is one load. 96 floats take three."},
        ),
        "direct_requested_bytes": Question(
            "points: bytes that the direct kernel's loads request for all N points",
            "N / 32 * 36 * 32",
            "bytes",
            rtol=0.01,
            slips={
                "N * 12": "That is the least. Each sector is asked for three times.",
                "N / 32 * 36": "That is sectors. Each one is 32 bytes.",
            },
        ),
        "least_bytes": Question(
            "points: bytes that have to be read at least", "12 * N", "bytes", 0.01
        ),
        "answered_by_l1": Question(
            "points: an H200's L1 passed 1.6 million sectors of the direct kernel's loads on to "
            "L2. What share of the requested sectors did L1 answer itself?",
            "1 - L2_SECTORS / (N / 32 * 36)",
            "a share between 0 and 1",
            rtol=0.02,
            slips={"L2_SECTORS / (N / 32 * 36)": "That is the share that L1 passed on."},
        ),
        "thread_a_row_request": _sectors(
            "row sums, a thread a row: sectors of one request, where lane i reads m[i, j]",
            "32",
            slips={"4": "Neighbouring lanes are a whole row apart: 800 bytes."},
        ),
        "thread_a_row": _sectors(
            "row sums, a thread a row: sectors requested for the whole matrix",
            "256 // 32 * 200 * 32",
            slips={"256 * 25": "That is the footprint. How many sectors does each request touch?"},
        ),
        "warp_a_row": _sectors(
            "row sums, a warp a row (lane i reads m[r, i], m[r, i + 32], ...): sectors requested",
            "256 * cdiv(200 * 4, 32)",
            slips={
                "256 * 7 * 4": "A row has 200 values: the seventh request of a row has 8 active "
                "lanes and touches 1 sector."
            },
        ),
        "kept_by_a_warp_bytes": Question(
            "row sums, a thread a row: bytes that L1 must keep for one warp so that its next "
            "columns are found there",
            "32 * 32",
            "bytes",
            slips={"32 * 4": "The whole sector of every lane has to stay, not the 4 bytes used."},
        ),
        "kept_by_an_sm_bytes": Question(
            "the same for an SM that runs 64 warps at once",
            "64 * 32 * 32",
            "bytes",
            slips={
                "64 * 32 * 4": "The whole sector of every lane has to stay, not the 4 bytes used."
            },
        ),
        "softmax_row_bytes": Question(
            "softmax: bytes of one row of 131,072 float32", "131072 * 4", "bytes"
        ),
        "softmax_one_pass_mb": Question(
            "softmax: megabytes (10**6 bytes) that one pass over the matrix reads",
            "1056 * 131072 * 4 / 10**6",
            "MB",
            rtol=0.01,
        ),
        "softmax_passes_from_dram": Question(
            "softmax: the kernel that passes over each row three times read 1,661 MB from the "
            "H200's DRAM. How many of its passes went to DRAM?",
            "round(THREE_PASS_MB / (1056 * 131072 * 4 / 10**6))",
            "passes",
        ),
    },
)
