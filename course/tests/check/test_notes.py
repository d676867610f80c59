"""What passes and is mentioned all the same: only where the text shows it for certain."""

import ast

import pytest

from autograder.proof.witness import solutions_of, witnesses_of
from course.check.check import check_source
from course.check.fences import unfenced
from course.check.notes import numba_notes, triton_notes
from course.engine.faults import Outcome
from course.engine.traffic import Site, Traffic
from course.exercises import lesson
from course.tests.pace import within

ADD = "from numba import cuda, float32\n\n\n@cuda.jit\ndef vector_add(a, b, c):\n"
GUARD = "    i = cuda.grid(1)\n    if i < c.size:\n        "


def notes(body: str, constants: dict[str, float] | None = None) -> list[str]:
    found = numba_notes(ast.parse(ADD + body), 5, ["a", "b", "c"], constants or {})
    return [message_id for message_id, _ in found]


@pytest.mark.parametrize(
    "body",
    [
        "    c[0] = a[0] * 0.5",
        "    v = a[0]\n    c[0] = v / -2.0",
        "    c[0] = HALF * a[0]",
        "    t = cuda.shared.array(32, float32)\n    c[0] = 0.5 * t[0]",
    ],
)
def test_a_number_with_a_point_makes_float64_of_a_float32(body):
    assert notes(body, {"HALF": 0.5}) == ["note_float64"]


def test_a_sum_that_starts_from_one_is_float64():
    body = "    total = 0.0\n    for k in range(8):\n        total += a[k]\n    c[0] = total"
    assert notes(body) == ["note_float64_sum"]
    assert notes(body.replace("0.0", "float32(0.0)")) == []


@pytest.mark.parametrize(
    "body",
    [
        "    c[0] = a[0] * float32(0.5)",
        "    c[0] = 2 * a[0]",
        "    c[0] = 0.0",
        "    n = 0.0\n    n += 1\n    c[0] = a[0]",
        "    HALF = float32(0.5)\n    c[0] = a[0] * HALF",
    ],
)
def test_what_stays_float32_or_cannot_be_told_has_no_note(body):
    assert notes(body, {"HALF": 0.5}) == []


def test_a_pass_is_a_pass_and_ends_with_the_note():
    cell = ADD + GUARD + "total = 0.0\n        total += a[i]\n        c[i] = total + b[i]\n"
    verdict = check_source(lesson("threads")["vector_add"], cell)
    assert verdict.outcome is Outcome.PASS
    assert verdict.credit == 1.0
    (note,) = verdict.next_steps
    assert note.startswith("A note: `total` starts as `0.0`, a float64 in Numba")


def test_a_held_out_pass_has_no_note():
    exercise = lesson("threads")["vector_add"]
    cell = ADD + GUARD + "total = 0.0\n        total += a[i]\n        c[i] = total + b[i]\n"
    assert check_source(exercise, cell, exercise.cases, 7).next_steps == ()


BOTH = """
@cuda.jit(device=True)
def one(v):
    return v


@cuda.jit(device=True)
def other(v):
    return 2 * v


@cuda.jit
def choose(a, c):
    r, s = one(a[0]), other(a[0])
    c[0] = r if a[1] > 0 else s
"""


def test_both_sides_worked_out_and_one_kept_is_mentioned():
    found = numba_notes(ast.parse(BOTH), BOTH[: BOTH.index("def choose")].count("\n") + 1, [], {})
    assert found == [("note_both_sides", {"line": 15, "one": "one", "two": "other"})]


DOT = (
    "@triton.jit\ndef k(x, w):\n    a = tl.load(x).to(tl.float32)\n    b = tl.load(w)\n    c = {}\n"
)


@pytest.mark.parametrize(
    ("product", "noted"),
    [
        ("tl.dot(a, b.to(tl.float32))", True),
        ("tl.dot(b, a)", True),
        ("tl.dot(a, b, input_precision='ieee')", False),
        ("tl.dot(a, b, allow_tf32=False)", False),
        ("tl.dot(b, b)", False),
        ("tl.dot(a.to(tl.float16), b)", False),
    ],
)
def test_float32_that_tl_dot_cuts_to_tf32_is_mentioned(product, noted):
    found = triton_notes(ast.parse(DOT.format(product)), [], [])
    assert [message_id for message_id, _ in found] == ["note_tf32"] * noted


@pytest.mark.parametrize(
    ("product", "noted"),
    [
        ('tl.dot(a.to(tl.float32), b.to(tl.float32), input_precision="ieee")', True),
        ('tl.dot(a.to(tl.float32), b, input_precision="ieee")', False),
        ('tl.dot(a, b, input_precision="ieee")', False),
        ('tl.dot(a.to(tl.float32), b.to(tl.float32), input_precision="tf32x3")', False),
    ],
)
def test_a_product_of_widened_operands_without_tensor_cores_is_mentioned(product, noted):
    found = triton_notes(ast.parse(f"def kernel(a, b):\n    total = {product}"), [], [])
    assert [message_id for message_id, _ in found] == ["note_ieee"] * noted


def test_turns_that_masks_leave_nothing_of_are_mentioned_where_the_loop_loads():
    cell = "@triton.jit\ndef k(x, n):\n    for i in range(n):\n        {}\n"
    turns = ("a = tl.load(x)", "a = i", "if i < 4: a = tl.load(x)")
    loads, computes, skips = (ast.parse(cell.format(turn)) for turn in turns)
    few, many = (Traffic((), busy_turns=32, idle_turn_sites={3: idle}) for idle in (15, 16))
    assert triton_notes(loads, [few], []) == triton_notes(computes, [many], []) == []
    assert triton_notes(skips, [many], []) == []
    assert triton_notes(loads, [few, many], []) == [("note_masked_turns", {"line": 3, "idle": 16})]


@pytest.mark.parametrize(
    ("filled", "more", "noted"),
    [
        (4096, [], True),
        (2048, [], False),  # another tensor
        (4096, [("C", "atomic")], False),
        (4096, [("C", "load")], False),
        (4096, [("A", "load")], True),
        (0, [], False),
    ],
)
def test_an_output_that_is_filled_and_then_stored_over_is_mentioned(filled, more, noted):
    cell = ast.parse("def f(A):\n    C = torch.zeros(1024)\n    k[(1,)](A, C)\n    return C")
    sites = [
        Site(array, direction, 3, 4, None, 128, 4096, 4096)
        for array, direction in [("C", "store"), *more]
    ]
    traffic = Traffic(sites, {("C", "store"): 4096}, filled_bytes=filled)
    found = triton_notes(cell, [traffic], ["A"])
    assert found == [("note_filled", {"line": 2, "bytes": 4096})] * noted


STORED = (
    "@gluon.jit\ndef k(x, s, t, c):\n    s = gl.allocate_shared_memory(gl.float16, [64, 64], x)\n"
)


def fences(*lines: str) -> list[tuple[object, object]]:
    """(line stored, line read) of each note, by the numbers of `lines`, from 1."""
    tree = ast.parse(STORED + "".join(f"    {line}\n" for line in lines))
    return [
        (fields["stored"] - 3, fields["line"] - 3)  # type: ignore[operator]
        for _, fields in unfenced(tree)
    ]


COPY = "tma.async_copy_shared_to_global(c, [0, 0], s)"
FENCE = "fence_async_shared()"


@pytest.mark.parametrize(
    ("lines", "noted"),
    [
        (["s.store(x)", COPY], [(1, 2)]),
        (["s.store(x)", FENCE, COPY], []),
        (["s.store(x)", f"hopper.{FENCE}", COPY], []),
        ([FENCE, "s.store(x)", COPY], [(2, 3)]),
        (["s.index(1).store(x)", "r = s.index(0)", "t = warpgroup_mma(r, t, c)"], [(1, 3)]),
        (["t = warpgroup_mma(s, t, c)", "s.store(x)"], []),
        (["for i in range(4):", f"    {COPY}", "    s.store(x)"], [(3, 2)]),
        (["for i in range(4):", "    s.store(x)", f"    {FENCE}", f"    {COPY}"], []),
        (["if c:", "    s.store(x)", "else:", "    pass", COPY], [(2, 5)]),
        (["s.store(x)", "if c:", f"    {FENCE}", COPY], []),
        (["s.store(x)", "k(s)", COPY], []),
        (["t.store(x)", COPY], []),
        (["x = s.load(t)", COPY], []),
        (["tl.store(s, x)", COPY], []),
        (["t = gl.allocate_shared_memory(gl.float16, [64], c, x)", "m(t)"], []),
        (
            ["t = gl.allocate_shared_memory(gl.float16, [64], c, x)", "tcgen05_mma(s, b=t, acc=c)"],
            [(1, 2)],
        ),
        (["s.store(x)", "tma.async_copy_global_to_shared(c, [0, 0], t, s)"], []),
    ],
)
def test_shared_memory_that_is_read_with_no_fence_is_mentioned(lines, noted):
    assert sorted(set(fences(*lines))) == noted


def test_loops_in_loops_are_gone_through_soon():
    loops = [f"{'    ' * depth}for i in range(4):" for depth in range(20)]
    with within(1.0):
        found = fences(*loops, f"{'    ' * 20}s.store(x)", COPY)
    assert set(found) == {(21, 22)}


def test_of_the_lessons_kernels_those_without_a_fence_are_mentioned():
    honest = [one for one in witnesses_of("modern") if one.is_honest]
    bare = {one.exercise: one.source for one in honest if one.name == "without_a_fence"}
    assert bare.keys() == {"tma_scale", "hopper_matmul", "specialised_matmul", "blackwell_matmul"}
    fenced = [one.source for one in honest if one.source not in bare.values()]
    for source in (*fenced, *solutions_of("modern").values()):
        assert list(unfenced(ast.parse(source))) == []
    for source in bare.values():
        notes = dict(unfenced(ast.parse(source)))
        assert list(notes) == ["note_fence"]
        lines = source.splitlines()
        assert ".store(" in lines[notes["note_fence"]["stored"] - 1]  # type: ignore[operator]
        assert "shared_to_global" in lines[notes["note_fence"]["line"] - 1]  # type: ignore[operator]


def test_a_kernel_without_its_fence_passes_with_a_note():
    bare = solutions_of("modern")["tma_scale"].replace(f"        {FENCE}\n", "")
    verdict = check_source(lesson("modern")["tma_scale"], bare)
    assert (verdict.outcome, verdict.credit) == (Outcome.PASS, 1.0)
    (note,) = verdict.next_steps
    assert "stores to `buffer` in shared memory" in note
    assert "Triton 3.6 does not" in note
