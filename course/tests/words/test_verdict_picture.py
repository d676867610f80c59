"""The pictures in the documentation: there is one of each kind and look, and each is small."""

import base64
import re

import pytest

from course.tests.words.verdict_picture import DOCS, KINDS, LOOKS, page

LARGEST_BYTES = 100_000
FILES = [f"{name}_{look}.png" for name in KINDS for look in LOOKS]


def test_the_page_shows_each_of_them_with_words():
    text = (DOCS / "pictures.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"!\[([^\]]+?\.)\]\(pictures/([\w.]+)\)", text.replace("[0, 1]", "")))
    assert sorted(shown.values()) == sorted(FILES)
    assert sorted(path.name for path in (DOCS / "pictures").iterdir()) == sorted(FILES)


@pytest.mark.parametrize("name", [*(f"pictures/{name}" for name in FILES), "verdict.png"])
def test_a_picture_is_small(name):
    assert 1_000 < (DOCS / name).stat().st_size < LARGEST_BYTES


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("verdict", "WRONG ANSWER"),
        ("race", "two race for it"),
        ("sectors", "32 sectors: 1024 bytes moved"),
        ("masks", "masked off"),
    ],
)
def test_a_picture_is_of_a_real_check(name, said):
    html = page(KINDS[name](), "dark")
    assert "background:#111418" in html
    if name == "verdict":
        assert said in html
    else:
        svg = re.search(r"base64,([\w+/=]+)", html)
        assert svg
        assert said in base64.b64decode(svg[1]).decode()
