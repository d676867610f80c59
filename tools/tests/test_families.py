"""A sampled run takes the stated share of each family, another seed others; no test is lost."""

import json
import runpy
from pathlib import Path

import pytest

from course.tests.families import family

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

@pytest.mark.family
@pytest.mark.parametrize("n", range(20))
def test_many(n):
    pass

@pytest.mark.family
@pytest.mark.parametrize("n", range(3))
def test_few(n):
    pass

SLOW = [pytest.param(n, marks=pytest.mark.slow) for n in range(8, 24)]

@pytest.mark.family
@pytest.mark.parametrize("n", [*range(8), *SLOW])
def test_mixed(n):
    pass

@pytest.mark.parametrize("n", range(5))
def test_always(n):
    pass

"""
SLOW = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("n", range(2))
def test_slow(n):
    pass
"""
NAPS = """
import time

import pytest

def test_long():
    time.sleep(0.6)

def test_short():
    pass

@pytest.mark.slow
def test_slow():
    time.sleep(0.6)
"""


@pytest.fixture
def chosen(pytester):
    pytester.makeconftest((ROOT / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers =\n    family\n    slow")
    pytester.makepyfile(TESTS, **dict.fromkeys(("test_a", "test_b", "test_c"), SLOW))

    def run(*options: str) -> list[str]:
        found = pytester.runpytest("--collect-only", "-q", "-p", "no:xdist", *options)
        return [line.partition("::")[2] for line in found.outlines if "::" in line]

    return run


def test_without_the_option_every_test_runs(chosen):
    assert len(chosen()) == 58


def test_a_sample_has_its_share_of_each_family_and_all_other_tests(chosen):
    names = chosen("--sample", "8", "--sample-seed", "2026-11-23")
    count = {stem: sum(n.startswith(stem) for n in names) for stem in ("test_many", "test_few")}
    assert count == {"test_many": 3, "test_few": 1}
    assert sum(n.startswith("test_always") for n in names) == 5
    assert sum(n.startswith("test_slow") for n in names) == 6


def test_of_a_familys_quick_members_there_is_a_share_in_every_run(chosen):
    options = ("--sample", "8", "-m", "not slow", "--sample-seed")
    for seed in "abcd":
        names = chosen(*options, seed)
        assert [sum(n.startswith(stem) for n in names) for stem in ("test_mixed", "test_many")] == [
            1,
            3,
        ]


def test_of_files_with_slow_tests_that_are_no_family_there_is_a_share_of_their_own(chosen):
    names = chosen("--sample-slow", "3", "--sample-seed", "2026-11-23")
    assert [n for n in names if n.startswith("test_slow")] == ["test_slow[0]", "test_slow[1]"]
    assert len(names) == 54


def test_of_long_tests_there_is_a_share_and_a_new_one_always_runs(chosen, pytester):
    file = next(pytester.path.glob("test_of_long*.py")).name
    long = {f"{file}::test_always[{n}]": 0.7 for n in range(4)}
    pytester.mkdir("docs").joinpath("test_seconds.json").write_text(json.dumps(long))
    options = ("--sample-long", "4", "--sample-seed")
    drawn = [[n for n in chosen(*options, s) if n.startswith("test_always")] for s in "abcdefgh"]
    assert {len(names) for names in drawn} == {2}
    assert all("test_always[4]" in names for names in drawn)
    assert len(set(map(tuple, drawn))) > 1


def test_what_a_test_took_is_recorded_where_no_other_sample_draws_it(chosen, pytester):
    pytester.mkdir("docs")
    pytester.makepyfile(test_naps=NAPS)
    pytester.runpytest("--record-seconds", "-p", "no:xdist", "test_naps.py").assert_outcomes(
        passed=3
    )
    kept = json.loads(pytester.path.joinpath("docs", "test_seconds.json").read_text())
    assert list(kept) == ["test_naps.py::test_long"]
    assert 0.5 <= kept["test_naps.py::test_long"] < 5


def test_a_seed_repeats_itself_and_seeds_go_through_all(chosen):
    day = ("--sample", "8", "--sample-seed", "day 0")
    assert chosen(*day) == chosen(*day)
    not_drawn = runpy.run_path(str(ROOT / "conftest.py"))["not_drawn"]
    samples = [{*range(20)} - {*not_drawn([*range(20)], 8, f"day {n}")} for n in range(12)]
    assert len({frozenset(sample) for sample in samples}) > 6
    assert len(set().union(*samples)) > 14


def test_the_run_says_what_it_leaves_out(chosen, pytester):
    found = pytester.runpytest("--sample", "8", "--sample-seed", "today", "-p", "no:xdist")
    found.stdout.fnmatch_lines(
        ["tests: one in 8 of a family, --sample-seed 'today'; *make test-all*"]
    )


def test_of_each_kind_one_member_runs_in_every_run():
    members = family([("a", 1), ("b", 2), ("a", 3)], lambda member: member[0], lambda one: one[0])
    assert [(one.values, one.id) for one in members] == [
        (("a", 1), "a"),
        (("b", 2), "b"),
        (("a", 3), "a"),
    ]
    assert [[mark.name for mark in one.marks] for one in members] == [[], [], ["slow", "family"]]
