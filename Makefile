# Each command sets up .venv by itself, once. `make` alone lists them.

PY := .venv/bin/python
WORKERS ?= auto
# A GPU's tests run where there is a GPU.
GPU := $(wildcard /dev/nvidiactl)
NO_GPU := $(if $(GPU),, and not gpu)
# What a sampled run takes of tests and of wrong kernels, the files' contents say: another machine
# draws the same for the same commit, and each commit draws others.
SEED ?= $(shell git rev-parse --short 'HEAD^{tree}' 2>/dev/null || date -u +%F)
# Who is root here is so in a container, as a rule; Jupyter wants to be told.
AS_ROOT = $(if $(filter 0,$(shell id -u)),--allow-root)
# Modules that are compiled anew in each process cost more than their files: tests start hundreds.
unexport PYTHONDONTWRITEBYTECODE
# A process a core: more threads than cores wait for each other by spinning.
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-slow test-all lab build lint check check-all mutate seeds bench bench-class bench-gpu estimates stock-nbgrader triton-versions colab gpu-notebooks nightly site new clean

help:
	@echo "make demo        the whole product on a sample class: notebooks, grades, a report"
	@echo "make test        the quick tests; of those of one shape a sample, which the commit draws"
	@echo "make lab         the course in JupyterLab"
	@echo ""
	@echo "make build       the notebooks from solutions/"
	@echo "make check       lint, types, stale files, and every exercise against its solution, its honest"
	@echo "                 variants and a sample of its wrong kernels; the commit draws it"
	@echo "make check-all   the same against every wrong kernel"
	@echo "make mutate      small mistakes in every solution: do the graders see them?"
	@echo "make seeds       held-out cases of fifty seeds: does a grade hang on luck?"
	@echo "make bench       the engine beside Numba's simulator, and what grading costs"
	@echo "make bench-class grading classes of 10 to 10,000, and what 1 to 1,000 workers would take"
	@echo "make estimates   what a kernel's estimate without a GPU is worth, on the recorded runs"
	@echo "make bench-gpu   every solution at full size on this machine's GPU, beside PyTorch"
	@echo "make stock-nbgrader  the exploits against nbgrader as it comes"
	@echo "make triton-versions  the Triton half on Triton 3.6, the pinned one, 3.8 and 3.9"
	@echo "make colab       every notebook on the versions that Colab has"
	@echo "make gpu-notebooks  every notebook on this machine's GPU"
	@echo "make nightly     all that takes hours: every test and witness, colab, triton-versions, mutate"
	@echo "make site        lessons, glossary, measurements and API as web pages, in .build/site"
	@echo "make new NAME=row_max LESSON=threads  the files of a new exercise, its gaps marked"
	@echo "make test-slow   a sample of the tests that 'make test' leaves out; the commit draws it"
	@echo "make test-all    every test"
	@echo "make venv        set-up alone (PYTHON=/path/to/python3.12 chooses the Python)"
	@echo "make clean       remove what was built, and caches; .venv stays"

venv:
	@sh tools/venv.sh

demo: venv
	@$(PY) -m autograder demo

test: venv
	$(PYTEST) --durations=15 -m "not slow and not network$(NO_GPU)" \
		--sample 8 --sample-long 3 --sample-seed "$(SEED)"

test-slow: venv
	$(PYTEST) --durations=15 -m "(slow or network)$(NO_GPU)" \
		--sample 96 --sample-slow 24 --sample-seed "$(SEED)"

test-all: venv
	$(PYTEST) --durations=15 -m "(slow or not slow)$(NO_GPU)" --record-seconds

lab: venv
	@$(PY) -m course progress --page notebooks/START.md
	JUPYTER_CONFIG_PATH=tools/jupyter $(PY) -m jupyter lab --notebook-dir=notebooks $(AS_ROOT)

build: venv
	$(PY) -m autograder build

lint: venv
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

check: lint
	$(PY) -m autograder check --sample 32 --sample-seed "$(SEED)"

check-all: lint
	$(PY) -m autograder check

mutate: venv
	$(PY) -m autograder mutate --out docs/mutation.json

seeds: venv
	$(PY) -m autograder seeds

bench: venv
	$(PY) -m tools.bench
	$(PY) -m autograder.proof.bench

estimates: venv
	$(PY) -m tools.calibrate_estimate --count

bench-class: venv
	$(PY) -m autograder.proof.class_sizes --out docs/class_sizes.json

bench-gpu: venv
	$(PY) -m tools.full_size --out docs/full_size.json

stock-nbgrader: venv
	$(PY) -m autograder.proof.stock

triton-versions: venv
	$(PY) tools/triton_versions.py

colab: venv
	$(PY) -m tools.colab

gpu-notebooks: venv
	$(PY) -m tools.gpu_notebooks --out docs/gpu_notebooks.json

# One after the other, whatever -j says; -k goes on to the next where one fails, and fails at the end.
nightly:
	@$(MAKE) -k -j1 test-all check-all colab triton-versions mutate

# Sphinx and its kin lie beside .venv, in uv's cache: nothing else wants them.
site: venv
	UV_CONSTRAINT=requirements.txt $(PY) -m uv run --no-project --python $(PY) \
		--with-requirements tools/website/requirements.txt python -m tools.website $(SITE)

new: venv
	@if [ -z "$(NAME)" ]; then \
		echo "An exercise needs a name, in lower case with underscores: make new NAME=row_max" >&2; exit 2; fi
	@$(PY) -m autograder new "$(NAME)" $(if $(LESSON),--lesson "$(LESSON)")

clean:
	rm -rf .build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +
