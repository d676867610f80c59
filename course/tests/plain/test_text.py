"""One text for every reader: which characters a cell may hold, and how its lines are counted."""

import ast
import sys
import unicodedata

import pytest

from course import exercises
from course.check import source
from course.check.answers import check_number_source
from course.check.check import check_source
from course.engine.cell.source import parse
from course.engine.faults import KernelFault, Outcome
from course.plain.text import lines_of, odd_character, unstacked, with_plain_ends

EVERY = [chr(number) for number in range(sys.maxunicode + 1)]


def test_a_plain_text_has_the_lines_that_every_reader_counts() -> None:
    for character in EVERY:
        if len(f"a{character}b".splitlines()) > 1:
            assert (odd_character(character) is None) == (character == "\n")


@pytest.mark.parametrize(
    ("text", "line"), [("x = 1\ni\ufe0f = 2\n", 2), ("def\\\n f\ufe0f(): 0\n", 1)]
)
def test_a_name_is_told_the_character_that_no_editor_shows(text: str, line: int) -> None:
    with pytest.raises(KernelFault) as caught:
        parse(text)
    assert (caught.value.message_id, caught.value.line) == ("odd_character", line)
    assert caught.value.fields["code"] == "U+FE0F"


def test_letters_of_every_script_marks_and_joined_symbols_are_plain() -> None:
    for text in ("é ß ğ ж 漢字 한글", "می‌روم", "👩‍💻 →", "x\u00a0= 1", "a\tb\n"):
        assert odd_character(text) is None, text


@pytest.mark.parametrize(
    "character",
    [c for c in EVERY[:256] if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    + [
        *"\u2028\u2029\u202a\u202e\u2066\u2069\u200e\u200f\u061c\ufeff\u200b\u2060\u00ad\U000e0041\ud800\udfff"
    ],
    ids=lambda c: f"{ord(c):04X}",
)
def test_an_odd_character_is_named_with_its_place_in_strings_and_outside(character: str) -> None:
    for line in (f'note = "ab{character}"', f"# note: ab{character}", f"x = 1   {character}"):
        with pytest.raises(KernelFault) as caught:
            parse(f"\n{line}\n")
        fault = caught.value
        assert (fault.outcome, fault.message_id, fault.line) == (
            Outcome.REJECTED, "odd_character", 2
        )  # fmt: skip
        assert fault.fields["code"] == f"U+{ord(character):04X}"
        assert fault.fields["column"] == line.index(character) + 1
        assert str(fault.fields["character"]).startswith(("a ", "an ", "half "))


@pytest.mark.parametrize("name", ["vector_add", "triton_add", "grid_math"])
def test_both_dialects_and_numbers_are_refused_alike(name: str) -> None:
    check = check_number_source if name == "grid_math" else check_source
    verdict = check(getattr(exercises, name), f"# \x0c\n{name} = {{}}\n")
    assert (verdict.outcome, verdict.message_id, verdict.line) == (
        Outcome.REJECTED, "odd_character", 1
    )  # fmt: skip


def test_at_home_the_cell_as_it_was_typed_is_read_and_not_what_ran(monkeypatch) -> None:
    typed = 'NOTE = "\x0c"\ndef vector_add(a, b, c):\n    pass\n'
    ran = "".join(f"{line}\n" for line in typed.splitlines())  # as IPython keeps what it ran
    plain = ran.replace("\n\n", "\n").replace('NOTE = "\n"\n', "")
    for last, expected in ((typed, typed), (plain, "")):
        monkeypatch.setattr(source, "history", lambda last=last: [plain, last])
        assert source.latest_cell("vector_add") == expected


def test_the_line_ends_of_another_system_are_line_ends() -> None:
    text = with_plain_ends("a = 1\r\nb = '''\r\n'''\r\n")
    assert odd_character(text) is None
    assert text == "a = 1\nb = '''\n'''\n"
    assert odd_character(with_plain_ends("a = 1\r\nb = 2\r")) is None  # as IPython keeps it


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "\na", "a\nb", '"""\n"""\n'])
def test_lines_are_counted_as_the_parser_counts_them(text: str) -> None:
    assert lines_of(text) == text.splitlines()
    body = ast.parse(text).body
    assert all(node.end_lineno <= len(lines_of(text)) for node in body)


@pytest.mark.parametrize(
    "text",
    ["vega", "Ngu\u0302\u0301ye\u0302\u0303n", "\u05e9\u05c1\u05b8\u05bc", "日本語の名前です"],
)
def test_marks_of_scripts_stay_and_a_tower_of_them_does_not(text: str) -> None:
    assert unstacked(text) == text
    assert (
        unstacked(f"{text}x" + "\u0301\u20dd" * 50 + "y") == f"{text}x" + "\u0301\u20dd" * 2 + "y"
    )
