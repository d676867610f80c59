"""`python -m autograder seeds`: it says for which seeds a cell is not judged as it should be."""

from dataclasses import replace

from autograder.__main__ import main
from autograder.proof import seeds
from course.engine.faults import Outcome

DRAWN = ("seed 0", "seed 1")


def test_it_names_each_seed_under_which_a_verdict_is_another():
    solution, *_ = seeds.cells_of("threads", "saxpy_grid_stride")
    wrong = replace(solution, outcome=Outcome.WRONG_ANSWER)
    found = seeds.unlucky("threads", "saxpy_grid_stride", wrong, DRAWN)
    assert len(found) == len(DRAWN)
    assert all(seed in sentence for seed, sentence in zip(DRAWN, found, strict=True))


def test_it_has_nothing_to_say_of_those_judged_right():
    for cell in seeds.cells_of("threads", "saxpy_grid_stride")[:3]:
        assert not seeds.unlucky("threads", "saxpy_grid_stride", cell, DRAWN)


def test_a_lesson_that_does_not_exist(capsys):
    assert main(["seeds", "reverse"]) == 2
    assert "There is no lesson 'reverse'" in capsys.readouterr().err
