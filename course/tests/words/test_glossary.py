"""The glossary: every term stands in its lesson, in bold."""

import re
from pathlib import Path

import pytest

import course
from course.words.glossary import TERMS

SOLUTIONS = Path(course.__file__).parent.parent / "solutions"
BOLD = re.compile(r"\*\*([^*\n]+)\*\*|<strong>([^<\n]+)</strong>")


def in_bold(lesson: str) -> set[str]:
    text = (SOLUTIONS / f"{lesson}.py").read_text(encoding="utf-8")
    return {"".join(found).lower() for found in BOLD.findall(text)}


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_introduced_where_the_glossary_says(term):
    lesson, meaning = TERMS[term]
    forms = {term.lower(), f"{term.lower()}s", term.lower().removesuffix("s"), f"{term.lower()}d"}
    assert forms & in_bold(lesson), f"{term} is not in bold in {lesson}"
    assert meaning.endswith(".")
    assert len(meaning) < 140


_LATE = "stage event warm-up pipe token batch parity swizzle multicast layout"


@pytest.mark.parametrize("term", _LATE.split())
def test_a_term_of_the_last_lessons_is_there(term):
    assert course.glossary(term).terms == [term]


def test_the_speed_of_light_is_what_lesson_12_says():
    said = re.sub(r"\n# ", " ", (SOLUTIONS / "12_speed_of_light.py").read_text(encoding="utf-8"))
    assert "is the least time that a GPU needs for its work: so many bytes" in said
    assert TERMS["speed of light"][1].startswith("The least time that a GPU needs")


def test_one_term_or_all_of_them_are_shown():
    assert repr(course.glossary("sectors")).startswith("sector: 32 bytes")
    assert course.glossary("SECTOR").terms == ["sector"]
    everything = course.glossary()
    assert set(everything.terms) == set(TERMS)
    page = everything._repr_html_()
    assert page.count("<tr>") == len(TERMS) + 1
    assert "00_start" in page


@pytest.mark.parametrize(
    ("asked", "near"), [("warpp", "warp"), ("softmax", "online softmax"), ("<b>", None)]
)
def test_a_word_that_is_not_there_has_the_nearest_beside_it(asked, near):
    found = course.glossary(asked)
    assert repr(found).startswith(f"{asked!r} is not a term of the glossary.")
    assert near is None or near in found.terms
    assert "<b>" not in found._repr_html_()
