# Every target runs packaging/setup.sh if needed.
# The tests of a file run in one process, because they share models. If a process crashes, the run ends and names
# the test: pytest-xdist 3.8 can wait forever when it replaces a process.
parallel = --numprocesses auto --dist loadfile --max-worker-restart 0
.PHONY: run test test-all check format pictures figures clean

run: ## open the window, or chat in the terminal if there is no screen
	@packaging/run.sh

test: check ## run the tests, in a few minutes
	@packaging/test.sh $(parallel) -m "not long" --ignore tests/test_structure.py

test-all: check ## run the tests with all examples, and the long tests; list what was skipped
	@HYPOTHESIS_PROFILE=all packaging/test.sh $(parallel) -rs

check: ## check style, types and imports
	@packaging/setup.sh test
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet . || { echo "Run \`make format\`."; exit 1; }
	@.venv/bin/mypy & types=$$!; packaging/test.sh tests/test_structure.py; imports=$$?; wait $$types && exit $$imports

format: ## format every file
	@packaging/setup.sh test
	@.venv/bin/ruff check --fix-only --quiet .
	@.venv/bin/ruff format --quiet .

pictures: ## take the README's screenshots, light and dark
	@packaging/setup.sh run
	@.venv/bin/python -m tests.benchmarks.screenshots

figures: ## measure speed on an idle machine, and write the figures into the docs
	@packaging/setup.sh run
	@.venv/bin/python packaging/figures.py --measure

clean: ## remove the environment and all caches
	rm -rf .venv .uv .pytest_cache .mypy_cache .ruff_cache .hypothesis .metal_cache build dist *.egg-info
