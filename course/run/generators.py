"""Random numbers of the GPU that a program finds: drawn here by the CPU's generators, with states
as a GPU's have them.

A GPU's generator is Philox: its state is a seed and an offset, 16 bytes, from which libraries seed
their kernels. Here a state names what the CPU's generator had when it was asked for.
"""

from __future__ import annotations

import secrets
from typing import Any

import torch

from course.run.tensors import CUDA

#: By how much an offset grows, at least: Philox makes four numbers at a time.
_NUMBERS_AT_ONCE = 4
_SEEDS = 1 << 63


class Generator(torch.Generator):
    """`torch.Generator`: of the CPU, or one that says that it is a GPU's."""

    def __new__(cls, device: Any = "cpu", drawn_by: torch.Generator | None = None) -> Any:
        """One of the CPU, whatever device is named."""
        of_gpu = torch.device("cpu" if device is None else device).type == "cuda"
        return super().__new__(_OfGpu if of_gpu else cls, "cpu")


class _OfGpu(Generator):
    """A generator of the GPU.

    Args:
        drawn_by: the CPU's that draws for it; itself unless told.
    """

    device = CUDA

    def __init__(self, device: Any = "cpu", drawn_by: torch.Generator | None = None) -> None:
        self._by = self if drawn_by is None else drawn_by
        self._known: dict[tuple[int, int], torch.Tensor] = {}
        self._at(torch.Generator.initial_seed(self._by), 0)

    def _at(self, seed: int, offset: int) -> None:
        self._seed, self._offset = seed, offset
        self._drawn = self._known[seed, offset] = torch.Generator.get_state(self._by)

    def manual_seed(self, seed: int) -> Any:
        """Begins anew."""
        torch.Generator.manual_seed(self._by, seed)
        self._known.clear()
        self._at(int(seed) % _SEEDS, 0)
        return self

    def seed(self) -> int:
        """Begins anew, anywhere."""
        self.manual_seed(secrets.randbelow(_SEEDS))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that it began with."""
        return self._seed

    def get_offset(self) -> int:
        """How many numbers it has given away; more, where something was drawn."""
        if not torch.equal(torch.Generator.get_state(self._by), self._drawn):
            self._at(self._seed, self._offset + _NUMBERS_AT_ONCE)
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Goes on from there."""
        self._go_to(self._seed, int(offset))

    def get_state(self) -> torch.Tensor:
        """Seed and offset, as 16 bytes."""
        state = torch.tensor([self._seed, self.get_offset()], dtype=torch.int64, device="cpu")
        return state.view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> Any:
        """Goes on from a state: as it did then, or from a place of its own."""
        seed, offset = state.cpu().view(torch.int64).tolist()
        self._go_to(seed, offset)
        return self

    def _go_to(self, seed: int, offset: int) -> None:
        known = self._known.get((seed, offset))
        if known is None:
            torch.Generator.manual_seed(self._by, (seed + offset) % _SEEDS)
        else:
            torch.Generator.set_state(self._by, known)
        self._at(seed, offset)


def of_torch_cuda() -> dict[str, Any]:
    """Of torch.cuda: its generator, and the functions that ask it."""
    default = Generator("cuda", torch.default_generator)
    return {
        "default_generators": (default,),
        "manual_seed": default.manual_seed,
        "manual_seed_all": default.manual_seed,
        "seed": default.seed,
        "seed_all": default.seed,
        "initial_seed": default.initial_seed,
        "get_rng_state": lambda device=None: default.get_state(),
        "get_rng_state_all": lambda: [default.get_state()],
        "set_rng_state": lambda state, device=None: default.set_state(state),
        "set_rng_state_all": lambda states: default.set_state(states[0]),
    }
