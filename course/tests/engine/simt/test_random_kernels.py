"""Random kernels give what Numba's own compiler gives for one thread after the other."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import course.engine.simt.launch
from course.engine.simt.nvvm import contraction
from course.notebook.numba_launches import run_on_engine
from course.tests.families import few_or_many
from course.tests.written import module_of

from .random_kernels import OUTPUTS, body, kernel_source, oracle_source

THREADS = 8


def arguments(seed):
    """Five arrays, a whole number and a float: all exact in binary."""
    random = np.random.default_rng(seed)
    return [
        random.integers(-50, 50, THREADS).astype(np.int32),
        random.integers(-50, 50, THREADS),
        (random.integers(-64, 64, THREADS) / 8).astype(np.float32),
        random.integers(-64, 64, THREADS) / 8,
        random.integers(0, 256, THREADS).astype(np.uint8),
        int(random.integers(0, 20)),
        float(random.integers(-9, 9) / 4),
    ]


@st.composite
def bodies(draw):
    return body(lambda count: draw(st.integers(0, count - 1)))


def check_values(statements, seed, monkeypatch):
    # for a processor the compiler contracts no product with a sum
    monkeypatch.setattr(contraction, "multiply_add", lambda x, y, z: x * y + z)
    kernel = module_of("drawn", kernel_source(statements)).kernel
    thread = module_of("drawn", oracle_source(statements)).thread
    args = arguments(seed)
    out, wanted = np.zeros((2, THREADS, OUTPUTS))
    kernel[1, 32](*args, out)
    for i in range(THREADS):
        thread(i, np.int32(i), *args, wanted)
    np.testing.assert_array_equal(out, wanted)


def check_batches(statements, seed, monkeypatch):
    kernel = module_of("drawn", kernel_source(statements)).kernel
    found = []
    for batch_lanes in (1, 64, 1 << 17):
        monkeypatch.setattr(course.engine.simt.launch, "BATCH_LANES", batch_lanes)
        args, out = arguments(seed), np.zeros((THREADS, OUTPUTS))
        traffic = run_on_engine(kernel, [*args, out], (4,), (2,))
        traffic.sites.sort(key=lambda site: (site.line, site.column, site.direction))
        found.append((traffic, out))
    for traffic, out in found[1:]:
        assert traffic == found[0][0]
        np.testing.assert_array_equal(out, found[0][1])


def each_of(examples, check, monkeypatch):
    """Has so many kernels checked."""
    health = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]

    @settings(max_examples=examples, deadline=None, suppress_health_check=health)
    @given(bodies(), st.integers(0, 1000))
    def one(statements, seed):
        check(statements, seed, monkeypatch)

    one()


@few_or_many(4, 150)
def test_values_and_types_are_those_of_numbas_compiler(monkeypatch, examples):
    each_of(examples, check_values, monkeypatch)


@few_or_many(15, 500)
def test_values_and_counts_do_not_depend_on_the_batch(monkeypatch, examples):
    each_of(examples, check_batches, monkeypatch)
