"""Words that name another lesson are links, and lead to it."""

import json
import re
from pathlib import Path

import pytest

from autograder.lessons.links import linked

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(path.stem for path in (ROOT / "solutions").glob("[0-9]*.py"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as in lesson 05.", "as in [lesson 05](05_roofline.ipynb)."),
        ("Lesson\n05 says", "[Lesson\n05](05_roofline.ipynb) says"),
        (
            "lessons 00 to 05, 06 and\n11 get",
            "[lessons 00](00_start.ipynb) to [05](05_roofline.ipynb), [06](06_hello_triton.ipynb) "
            "and\n[11](11_attention_backward.ipynb) get",
        ),
        ("lesson 05, section 6", "[lesson 05](05_roofline.ipynb), section 6"),
        (
            "Next: **02 coalescing**, where",
            "Next: [**02 coalescing**](02_coalescing.ipynb), where",
        ),
        (
            "<details><summary>As in lesson 02?</summary>\n<p>Lesson 05 does.</p>\n</details>",
            '<details><summary>As in <a href="02_coalescing.ipynb">lesson 02</a>?</summary>\n'
            '<p><a href="05_roofline.ipynb">Lesson 05</a> does.</p>\n</details>',
        ),
    ],
)
def test_a_lesson_that_is_named_is_a_link(text: str, found: str) -> None:
    assert linked(text, "03_shared_memory", LESSONS) == found


@pytest.mark.parametrize(
    "text",
    [
        "this is lesson 03",
        "`lesson 05` is code",
        "```\n# lesson 05\n\nlesson 05\n```",
        "<p><code>lesson 05</code></p>",
        "# After lesson 05",
        "[the roofline of lesson 05](05_roofline.ipynb)",
        "lesson 77",
        "lesson 055",
        "the lesson after it",
    ],
)
def test_its_own_name_code_and_what_is_no_lesson_stay(text: str) -> None:
    assert linked(text, "03_shared_memory", LESSONS) == text


def test_what_lies_in_no_folder_beside_it_is_no_link() -> None:
    assert linked("lesson 05", "01_threads", ["00_start", "01_threads"]) == "lesson 05"


@pytest.mark.parametrize("lesson", LESSONS)
def test_each_link_of_a_notebook_leads_to_another_notebook(lesson: str) -> None:
    path = ROOT / "notebooks" / f"{lesson}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        pages = re.findall(r"\]\((\S+\.ipynb)\)|<a href=\"(\S+\.ipynb)\"", text)
        assert cell["cell_type"] == "markdown" or not pages
        for page in map("".join, pages):
            assert (path.parent / page).exists()
            assert page != path.name


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_notebook_names_no_other_lesson_without_a_link(lesson: str) -> None:
    path = ROOT / "notebooks" / f"{lesson}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and "nbgrader" not in cell["metadata"]:
            assert linked(text, lesson, LESSONS) == text
