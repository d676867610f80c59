"""Every message that the code can raise has words, and words never fail."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import course
from course.engine.faults import KernelFault, Outcome
from course.words.phrasing import shown
from course.words.sentences import WORDS, next_step, sentence, words_of

PACKAGE = Path(course.__file__).parent
#: functions that raise or build a fault: where their message id stands among the arguments
MADE_FROM_PARTS = (
    r"race_(shared|global)(_same_value)?",
    r"(shared|local)_shape_not_constant",
    r"stall_\w+",
)
RAISERS = {"KernelFault": 1, "rejected": 1, "_refused": None, "_wrong_kind": 1}


def raised_ids() -> dict[str, str]:
    """Message ids in the course's code, each with the place where it stands."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in RAISERS:
                    for message_id in ids_of(node, RAISERS[name]):
                        found[message_id] = f"{path.name}:{node.lineno}"
    return found


def ids_of(call: ast.Call, position: int | None) -> list[str]:
    arguments = call.args if position is None else call.args[position : position + 1]
    arguments = arguments + [k.value for k in call.keywords if k.arg == "message_id"]
    constants = [n.value for a in arguments for n in texts(a)]
    return [text for text in constants if isinstance(text, str)]


def texts(node: ast.expr) -> list[ast.Constant]:
    """Texts that an argument may be: itself, or either side of a conditional expression."""
    if isinstance(node, ast.IfExp):
        return texts(node.body) + texts(node.orelse)
    return [node] if isinstance(node, ast.Constant) else []


def test_every_message_id_that_is_raised_has_words():
    missing = {i: where for i, where in raised_ids().items() if i not in WORDS}
    assert missing == {}


def test_no_words_are_kept_that_nothing_raises():
    code = "\n".join(
        path.read_text()
        for path in PACKAGE.rglob("*.py")
        if "tests" not in path.parts and path.name not in ("words.py", "wording.py")
    )
    made = re.compile("|".join(MADE_FROM_PARTS))
    unused = [i for i in WORDS if f'"{i}"' not in code and not made.fullmatch(i)]
    assert unused == []


def test_the_search_for_message_ids_finds_those_of_the_engine_and_of_the_check():
    assert {"out_of_bounds", "negative_index", "not_attempted", "not_jitted"} <= set(raised_ids())


def test_an_out_of_bounds_sentence_names_array_index_shape_block_and_thread():
    fields = {
        "access": "writes", "array": "c", "index": "1000", "shape": "1000", "block": "3",
        "thread": "232", "axis": 0, "size": 1000,
    }  # fmt: skip
    assert sentence("out_of_bounds", fields) == (
        "c[1000] does not exist: c has shape (1000,). Thread 232 of block 3 writes it."
    )


def test_places_may_be_numbers_tuples_or_text():
    fields = {"access": "load", "array": "a", "index": (3, 70), "shape": (4, 64)}
    assert sentence("out_of_bounds", fields | {"thread": (6, 3), "block": (1, 0)}) == (
        "a[3, 70] does not exist: a has shape (4, 64). Thread (6, 3) of block (1, 0) reads it."
    )
    assert "Thread 6 of block 12000 reads" in sentence(
        "out_of_bounds", fields | {"thread": 6, "block": (12_000,)}
    )


@pytest.mark.parametrize(
    ("kind", "other", "said"),
    [
        ("write/read", ("5", "0"), "reads s[7] in shared memory, on line 9, and thread 5 of the "
         "same block writes it, on line 4, with no barrier between."),
        ("read/write", ("5", "0"), "writes s[7] in shared memory, on line 9, and thread 5 of the "
         "same block reads it, on line 4, with no barrier between."),
        ("write/write", ("several", "0"), "writes s[7] in shared memory, on line 9, and several "
         "other threads of its block write it, on line 4, with no barrier between."),
        ("atomic/plain", ("5", "0"), "with no barrier between: one access is an atomic, the other "
         "is not."),
    ],
)  # fmt: skip
def test_a_race_says_who_does_what_on_which_line(kind, other, said):
    fields = {
        "array": "s", "index": "7", "block": "0", "thread": "2", "kind": kind, "line": 9,
        "other_line": 4, "other_thread": other[0], "other_block": other[1],
    }  # fmt: skip
    text = sentence("race_shared", fields)
    assert text.startswith("Thread 2 of block 0 ")
    assert text.endswith(said)


def test_a_race_on_one_line_says_where_the_barrier_of_a_loop_belongs():
    fields = {"other_thread": "5", "line": 9, "other_line": 9}
    assert "Both are on line 9: the barrier belongs between two turns of its loop" in next_step(
        "race_shared", fields
    )
    assert "Both" not in next_step("race_shared", fields | {"other_line": 4})


def test_an_unknown_id_still_gives_a_sentence_with_its_values():
    assert sentence("comet_struck", {"array": "a", "line": 3}) == "comet struck: array a, line 3."
    assert next_step("comet_struck", {}) == ""


@pytest.mark.parametrize("message_id", sorted(WORDS))
def test_a_missing_field_never_fails_and_leaves_no_brace_or_bar(message_id):
    for text in (sentence(message_id, {}), next_step(message_id, {})):
        assert "|" not in text
        assert "{" not in text.replace("{...}", "")


#: What a GPU made or would make of a right kernel, where there is nothing to do.
WITHOUT_NEXT = (
    *(one for one in WORDS if one.startswith(("profile_", "stall_", "estimate_", "unit_"))),
    *("gpu_called", "gpu_right", "gpu_timed", "gpu_slower", "gpu_untimed", "gpu_no_room"),
)


@pytest.mark.parametrize(
    "message_id",
    sorted(
        one for one in WORDS if not one.startswith(("passed", "note_")) and one not in WITHOUT_NEXT
    ),
)
def test_every_failure_has_a_next_step(message_id):
    assert WORDS[message_id].next


@pytest.mark.parametrize("dialect", ["numba", "triton"])
def test_bars_stand_in_pairs_and_so_never_for_themselves(dialect):
    templates = {one: words_of(one, dialect) for one in WORDS}
    assert [one for one, words in templates.items() for text in words if text.count("|") % 2] == []


@pytest.mark.parametrize("value", [None, -1, 1.5, float("nan"), "x|{y}", (), (1, 2), [..., {}]])
def test_any_value_of_any_field_gives_a_sentence(value):
    for message_id, words in WORDS.items():
        fields = dict.fromkeys(re.findall(r"\{(\w+)\}", words.text + words.next), value)
        assert sentence(message_id, fields)
        assert isinstance(next_step(message_id, fields), str)


def test_a_fault_reads_as_outcome_line_and_sentence():
    fault = KernelFault(Outcome.REJECTED, "undefined_name", 4, name="TPB")
    assert str(fault) == "REJECTED: line 4: `TPB` is not defined in this cell."


def test_numbers_are_shown_with_the_digits_that_tell_them_apart():
    assert shown(np.float32(0.1)) == "0.1"
    assert shown(2.0) == "2.0"
    assert shown(float("nan")) == "nan"
    assert shown(1_000_000) == "1,000,000"
    assert shown(np.int64(7)) == "7"
    assert shown((1, 2)) == "1, 2"
