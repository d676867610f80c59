"""Every picture says in words what it shows, is well-formed, and draws the same twice."""

import importlib
import inspect
import pkgutil
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import pytest

import course.figures
from course.figures.access import access_picture, grid_picture
from course.figures.cells import Cells, cells_picture
from course.figures.drawing import FILLS, Drawing
from course.figures.picture import FAINT_INK, INK, PANEL, Picture, plot
from course.figures.running import programs_picture
from course.tests.words.test_verdict import luminance


def pictures_of_the_lessons() -> list[Callable[[], Picture]]:
    found: list[Callable[[], Picture]] = []
    for module_info in pkgutil.iter_modules(course.figures.__path__):
        module = importlib.import_module(f"course.figures.{module_info.name}")
        for name, function in sorted(vars(module).items()):
            own = getattr(function, "__module__", "") == module.__name__
            if not own or name.startswith("_") or not inspect.isfunction(function):
                continue
            signature = inspect.signature(function)
            complete = all(p.default is not p.empty for p in signature.parameters.values())
            if signature.return_annotation in ("Picture", Picture) and complete:
                found.append(function)
    return found


@pytest.mark.parametrize(
    "draw", pictures_of_the_lessons(), ids=lambda f: f"{f.__module__.split('.')[-1]}.{f.__name__}"
)
@pytest.mark.family
def test_a_lessons_picture_has_a_text_alternative_and_draws_the_same_twice(
    draw: Callable[[], Picture],
) -> None:
    first, second = draw(), draw()
    assert len(first.alt) > 40, "the alternative says less than a sentence"
    assert ElementTree.fromstring(first.svg).tag.endswith("svg")
    assert first.svg == second.svg


def test_a_picture_shrinks_to_a_phones_page_and_a_wide_one_moves_in_its_own_frame() -> None:
    least = [
        re.search(r'overflow-x:auto;max-width:100%"><div style="min-width:(\d+)px', html)
        for html in (Drawing(width, 10).picture("words")._repr_html_() for width in (600, 1000))
    ]
    assert [int(found[1]) for found in least if found] == [372, 620]


@pytest.mark.parametrize(
    "picture",
    [
        access_picture([128 * lane for lane in range(32)], 4, "a[32 * i]"),
        cells_picture("c[i] = a[i]", Cells("a", 64, 0, {0: "0"}, "used", "read now"), [], "words"),
        programs_picture(40, 8, False),
    ],
)
def test_what_a_verdict_draws_stands_whole_on_a_screen_of_400(picture: Picture) -> None:
    found = re.search(r"min-width:(\d+)px", picture._repr_html_())
    assert found
    assert int(found[1]) <= 384


def test_bars_below_elements_are_in_the_legend_as_sectors() -> None:
    def drawn(itemsize: int) -> str:
        cells = Cells("a", 16, 0, {3: "3"}, "used", "read now", itemsize=itemsize)
        return cells_picture("c[i] = a[i]", cells, [], "words").svg

    assert ">a sector</text>" in drawn(4)
    assert ">a sector</text>" not in drawn(0)


@pytest.mark.parametrize("label", ["0:10+", "0:255", "12", "0:3,1+", "p107+"])
def test_labels_of_neighbouring_elements_stand_apart(label: str) -> None:
    now = dict.fromkeys(range(16), label)
    cells = Cells("a", 16, 0, now, "used", "read now", dict.fromkeys(now, "255"))
    picture = cells_picture("c[i] = a[i]", cells, [], "words")
    for group in re.findall(r'<g font-size="([\d.]+)" text-anchor="middle".*?</g>', picture.svg):
        words = re.findall(rf'<g font-size="{group}".*?</g>', picture.svg)[0]
        longest = max(len(word) for word in re.findall(r">([^<]+)</text>", words))
        assert 0.62 * float(group) * longest <= 30 - 3 - 4 + 0.1


def test_a_picture_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="text alternative"):
        Picture("<svg/>", "  ")


def test_a_notebook_gets_an_image_with_its_alternative_and_a_terminal_the_words() -> None:
    picture = Drawing(10, 10).picture('a "small" box')
    assert 'alt="a &quot;small&quot; box"' in picture._repr_html_()
    assert repr(picture) == '[picture] a "small" box'


def test_no_two_kinds_of_box_differ_by_colour_alone() -> None:
    looks = [(fill.hatch, fill.colour == "none") for fill in FILLS.values()]
    solid = [kind for kind, fill in FILLS.items() if not fill.hatch and fill.colour != "none"]
    assert solid == ["plain", "used"]  # one white, one filled: apart in grey too
    hatched = [look for look in looks if look[0]]
    assert len(set(hatched)) == len(hatched)


@pytest.mark.parametrize(
    ("addresses", "itemsize", "words"),
    [
        ([4 * i for i in range(32)], 4, "4 sectors: 128 bytes moved, 128 used (100 %)"),
        ([4 * i + 4 for i in range(32)], 4, "5 sectors: 160 bytes moved, 128 used (80 %)"),
        ([32 * i for i in range(32)], 4, "32 sectors: 1024 bytes moved, 128 used (12.5 %)"),
        ([0] * 32, 4, "1 sector: 32 bytes moved, 4 used (12.5 %)"),
        ([8 * i for i in range(32)], 8, "8 sectors: 256 bytes moved, 256 used (100 %)"),
        ([0, None, 64], 4, "2 sectors: 64 bytes moved, 8 used (12.5 %)"),
        ([4096 * i + 30 for i in range(32)], 4, "64 sectors: 2048 bytes moved, 128 used (6.25 %)"),
    ],
)
def test_the_access_picture_counts_sectors_and_used_bytes(
    addresses: list[int | None], itemsize: int, words: str
) -> None:
    picture = access_picture(addresses, itemsize)
    assert words in picture.alt
    ElementTree.fromstring(picture.svg)


def test_an_access_picture_needs_an_active_lane_and_at_most_a_warp() -> None:
    with pytest.raises(ValueError, match="no lane is active"):
        access_picture([None])
    with pytest.raises(ValueError, match="32 lanes"):
        access_picture([0] * 33)


def test_the_grid_picture_counts_the_threads_past_the_end() -> None:
    assert "last 2 threads of the grid have no element" in grid_picture(10, 4).alt
    assert "no thread is spare" in grid_picture(8, 4).alt


def test_a_chart_is_the_same_svg_twice() -> None:
    def chart() -> Picture:
        figure = plot(3, 2)
        figure.add_subplot().plot([1, 2], [3, 4], label="a")
        return Picture(figure, "a line from 3 to 4")

    assert chart().svg == chart().svg


@pytest.mark.parametrize("ink", [INK, FAINT_INK])
@pytest.mark.parametrize("kind", FILLS)
def test_words_in_a_picture_can_be_read_on_its_own_panel_in_light_and_dark(
    kind: str, ink: str
) -> None:
    """A picture brings its panel, which a dark page leaves light."""
    behind = FILLS[kind].colour.replace("none", PANEL)
    assert (luminance(behind) + 0.05) / (luminance(ink) + 0.05) >= 4.5
    picture = Drawing(40, 20).picture("a small box")
    assert f'fill="{PANEL}"' in picture.svg
