"""How a verdict reads, as text and as HTML, and what a report gets of it."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from course.engine.faults import Outcome
from course.tests.words.verdict_samples import GOLDEN, samples
from course.words import panel
from course.words.sentences import WORDS
from course.words.verdict import (
    HEADLINES,
    Access,
    Row,
    SourceLine,
    Verdict,
    bytes_text,
    of_budget_text,
    ratio_text,
)

SAMPLES = samples()


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("suffix", ["txt", "html"])
def test_a_verdict_reads_as_in_its_golden_file(name, suffix):
    verdict = SAMPLES[name]
    text = str(verdict) if suffix == "txt" else verdict._repr_html_()
    golden = (GOLDEN / f"{name}.{suffix}").read_text(encoding="utf-8")
    assert f"{text}\n" == golden, "run: python -m course.tests.words.verdict_samples"


def test_no_golden_file_is_left_over():
    names = {path.stem for path in GOLDEN.iterdir()}
    assert names == set(SAMPLES)


def test_every_outcome_has_words_and_a_sample():
    assert set(HEADLINES) == set(Outcome)
    assert {verdict.outcome for verdict in SAMPLES.values()} == set(Outcome)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_only_a_pass_is_true(name):
    verdict = SAMPLES[name]
    assert bool(verdict) is (verdict.outcome is Outcome.PASS)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_failure_says_what_to_do_next(name):
    verdict = SAMPLES[name]
    assert verdict.message[0].isupper() or verdict.message[0] in "`abcwA"
    assert verdict.message.endswith(".")
    assert verdict or verdict.next_steps


def test_a_verdict_on_traffic_holds_bytes_ratios_and_points():
    verdict = SAMPLES["traffic_scattered"]
    assert (verdict.requested_bytes, verdict.least_bytes) == (294912, 65536)
    assert verdict.budget_bytes == pytest.approx(72089.6)
    assert verdict.rows[1].ratio == pytest.approx(256 / 35.2)
    assert (verdict.credit, verdict.points) == (0.6, 4.8)


class Elements(HTMLParser):
    """Tags, text and attributes of a panel; fails where tags do not pair."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def elements(html: str) -> Elements:
    parser = Elements()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_panel_says_in_words_what_its_colour_and_symbol_say(name):
    verdict = SAMPLES[name]
    text = elements(verdict._repr_html_()).text
    assert verdict.outcome.value.replace("_", " ") in text
    assert "_" not in text[: text.index(verdict.exercise)]
    assert verdict.headline in text
    assert all(step.replace("`", "") in text for step in verdict.next_steps)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_table_of_a_panel_has_a_caption_and_scoped_headers(name):
    tags = elements(SAMPLES[name]._repr_html_()).tags
    tables = [tag for tag, _ in tags if tag == "table"]
    assert [tag for tag, _ in tags if tag == "caption"] == ["caption"] * len(tables)
    assert all(attributes.get("scope") for tag, attributes in tags if tag == "th")
    assert {tag for tag, _ in tags}.isdisjoint({"script", "style", "link", "img", "iframe"})


@pytest.mark.parametrize("name", ["traffic_scattered", "numbers_wrong", "show"])
def test_a_table_wider_than_the_page_is_moved_in_a_frame_of_its_own(name):
    html = SAMPLES[name]._repr_html_()
    framed = html.count('<div style="overflow-x:auto;max-width:100%"><table ')
    assert framed == html.count("<table ") > 0
    assert "white-space:pre;" not in html  # code that cannot wrap pushes the numbers out of sight


def of_triton(outcome: Outcome, message_id: str) -> Verdict:
    accesses = (Access("x", "load", 64, None, 1.0),)
    return Verdict(
        outcome,
        "triton_add",
        "A sentence.",
        message_id,
        case_label="N=1000",
        case_number=3,
        case_count=10,
        rows=(Row("x", "load", 64, 70.4, 64), Row("", "total", 64, 70.4, 64)),
        lines=(SourceLine(1, "x = tl.load(x_ptr)", accesses),),
    )


def test_what_was_compiled_takes_several_lines_where_it_is_long_and_alone() -> None:
    said = "as compiled 8.0 MB, 4 times that: a lane takes 4 bytes at a time of 16 side by side"
    access = Access("C", "atomic", 64, None, 1.0, said)
    for accesses, wraps in (((access,), True), ((access, access), False)):
        table = panel._line_table((SourceLine(1, "tl.atomic_add(C, 1)", accesses),), measured=True)
        [style] = re.findall(r'<td style="([^"]*)">' + re.escape(said), table)
        assert ("nowrap" not in style) == wraps


def test_a_panel_on_a_triton_kernel_speaks_of_programs_and_has_no_column_of_requests():
    html = of_triton(Outcome.TOO_MUCH_TRAFFIC, "too_much_traffic")._repr_html_()
    assert "Global memory: what programs ask for" in html
    assert "sectors a request" not in html
    html = SAMPLES["traffic_scattered"]._repr_html_()
    assert "Global memory: what warps ask for" in html
    assert "sectors a request" in html


@pytest.mark.parametrize(
    ("outcome", "message_id", "headline"),
    [
        *(
            (Outcome.TOO_SERIAL, message_id, "right answer, too much work in one program")
            for message_id in (
                *("program_too_long", "program_too_busy"),
                *("program_in_vain", "turns_in_vain"),
            )
        ),
        (Outcome.TOO_SERIAL, "too_serial", "right answer, too much work in one warp"),
        (Outcome.TOO_SERIAL, "products_apart", "right answer, one thing after the other"),
        (Outcome.TOO_SERIAL, "too_much_work", "right answer, more arithmetic than it needs"),
        *(
            (Outcome.REJECTED, id_, "right answer, by other means than this exercise asks for")
            for id_ in ("tile_not_copied", "tile_not_divided", "tile_many_launches")
        ),
        *(
            (Outcome.TOO_MANY_RESOURCES, message_id, headline)
            for headline, message_ids in (
                (
                    "right answer, takes more than this exercise allows",
                    (
                        *("shared_over_limit", "registers_over_limit", "spills_over_limit"),
                        "programs_in_vain",
                    ),
                ),
                ("asks for more than a GPU has", ("tile_shared", "too_much_shared")),
            )
            for message_id in message_ids
        ),
    ],
)
def test_a_headline_tells_a_limit_of_the_exercise_from_one_of_the_gpu(
    outcome, message_id, headline
):
    assert message_id in WORDS
    assert of_triton(outcome, message_id).headline == headline


def test_a_pass_says_which_of_its_cases_is_shown():
    passed = of_triton(Outcome.PASS, "passed")
    assert passed.case_text == "of 10 cases the nearest to its budget: N=1000"
    assert replace(passed, rows=()).case_text == "one of 10 cases: N=1000"
    assert replace(passed, case_number=1, case_count=1).case_text == "case 1 of 1: N=1000"
    assert replace(passed, outcome=Outcome.RACE).case_text == "case 3 of 10: N=1000"


def test_whatever_a_learner_wrote_is_escaped():
    verdict = Verdict(
        Outcome.REJECTED,
        "<b>",
        "`<script>alert(1)</script>` & more",
        "x",
        case_label="<i>",
        case_number=1,
        case_count=1,
        next_steps=('<a href="x">',),
        commands=("<u>",),
    )
    tags = {tag for tag, _ in elements(verdict._repr_html_()).tags}
    assert tags <= {"div", "span", "strong", "p", "code"}


def test_sizes_are_shown_in_units_of_1024_bytes():
    assert [bytes_text(n) for n in (0, 96, 35.2, 1023, 1024, 36045, 1536 * 1024, 3 << 30)] == [
        "0 B", "96 B", "35.2 B", "1023 B", "1.0 KB", "35.2 KB", "1.5 MB", "3.0 GB",
    ]  # fmt: skip


def test_a_ratio_just_over_the_budget_is_not_shown_as_one():
    assert [of_budget_text(r) for r in (0.909, 1.0, 1.02, 1.1, 7.27, None)] == [
        "0.9", "1.0", "1.02", "1.1", "7.3", "-",
    ]  # fmt: skip
    assert [ratio_text(r) for r in (4.0, 7.25, 0.125, 1.0, 32.0)] == [
        "4",
        "7.2",
        "0.125",
        "1",
        "32",
    ]


def test_an_access_without_budget_is_not_over_and_a_budget_of_nothing_is():
    assert not Row("c", "load", 32, None, 0).over
    assert Row("c", "load", 32, 0.0, 0).over
    assert not Row("c", "load", 0, 0.0, 0).over


def luminance(color: str) -> float:
    channels = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_white_words_on_a_badge_can_be_read(name):
    colors = re.findall(r"background:(#\w{6});color:#ffffff", SAMPLES[name]._repr_html_())
    assert colors
    assert all(1.05 / (luminance(color) + 0.05) >= 4.5 for color in colors)
