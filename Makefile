# Every target does the set-up it needs; see packaging/setup.sh.
# A process for every core; a file's tests stay together, since they share models.
parallel = --numprocesses auto --dist loadfile
.PHONY: run test test-all check format pictures figures clean

run: ## the window; without a screen the chat in the terminal; without a terminal a sample comparison
	@packaging/run.sh

test: check ## a sample of every property, in a few minutes
	@packaging/test.sh $(parallel) -m "not long"

test-all: check ## the stated counts, and the long tests
	@HYPOTHESIS_PROFILE=all packaging/test.sh $(parallel)

check: ## style, types, direction of imports
	@packaging/setup.sh test
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet . || { echo "Run \`make format\`."; exit 1; }
	@.venv/bin/mypy
	@packaging/test.sh tests/test_structure.py

format: ## bring every file into the house's style
	@packaging/setup.sh test
	@.venv/bin/ruff check --fix-only --quiet .
	@.venv/bin/ruff format --quiet .

pictures: ## the README's pictures, taken of the running app, light and dark
	@packaging/setup.sh run
	@.venv/bin/python -m tests.benchmarks.screenshots

figures: ## measure speed, alone and beside other decoders, and write the figures into the pages; wants a machine that does nothing else
	@packaging/setup.sh run
	@.venv/bin/python packaging/figures.py --measure

clean: ## remove the environment and all caches
	rm -rf .venv .uv .pytest_cache .mypy_cache .ruff_cache .hypothesis .metal_cache build dist *.egg-info
