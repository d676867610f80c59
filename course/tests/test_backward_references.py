"""The references of backward exercises are what torch's autograd makes of the forward ones."""

import numpy as np
import pytest

from course import exercises as ex
from course.check.cases import drawn_case
from course.spec.inputs import given_to_reference

torch = pytest.importorskip("torch")


def three_sigmoids(x, **_):
    return torch.sigmoid(torch.sigmoid(torch.sigmoid(x)))


def rmsnorm(x, w, eps, **_):
    return torch.nn.functional.rms_norm(x, (x.shape[-1],), eps=eps) * w


def attention(q, k, v, causal, **_):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


#: exercise: the forward pass, the gradient that it gets, and by name the inputs' gradients
BACKWARD = {
    "triple_sigmoid_backward": (three_sigmoids, "dout", {"dx": "x"}),
    "rmsnorm_backward": (rmsnorm, "dy", {"dx": "x", "dw": "w"}),
    "flash_dkdv": (attention, "dout", {"dk": "k", "dv": "v"}),
    "flash_dq": (attention, "dout", {"dq": "q"}),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_a_backward_reference_is_what_autograd_finds_in_float64(name):
    exercise = getattr(ex, name)
    forward, incoming, gradients = BACKWARD[name]
    for case in exercise.cases:
        given = given_to_reference(exercise, drawn_case(exercise, case))
        tensors = {
            name: torch.tensor(value, requires_grad=name in gradients.values())
            if isinstance(value, np.ndarray)
            else value
            for name, value in given.items()
        }
        forward(**tensors).backward(tensors[incoming])
        expected = exercise.reference(**given)
        assert expected.keys() == gradients.keys()
        sizes = expected if exercise.magnitude is None else exercise.magnitude(**given)
        for output, of in gradients.items():
            found = tensors[of].grad.numpy()
            allowed = 1e-10 * np.abs(sizes[output]) + 1e-300
            assert (np.abs(found - expected[output]) <= allowed).all(), (case.label, output)


def test_every_backward_exercise_is_compared():
    backward = {name for name in ex.all_exercises() if "backward" in name or name[:7] == "flash_d"}
    assert backward - {"flash_decode", "flash_delta"} == BACKWARD.keys()
