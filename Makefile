# Each target sets up what it needs, in .venv, and is quick the second time. On Windows see README.md.
PYTHON ?= python3
IN_VENV = $(PYTHON) tools/in_venv.py

.PHONY: run test test-fast check docs pictures bench torture learn-check

run:  ## the Zerg bot plays and learns, on the proving ground or in StarCraft II
	$(IN_VENV) --with run run_with_training.py

test:  ## all unit tests; finds a Chromium for those of the dashboard, or installs it where apt-get can
	$(IN_VENV) --with dev tools/chromium.py
	$(IN_VENV) --with dev -m pytest

test-fast:  ## the quick tests, while working (under two minutes); says which were the slowest
	$(IN_VENV) --with dev -m pytest -m "not slow" --durations=5

check:  ## lint, format, types; links and prose of the documentation
	$(IN_VENV) --with dev -m ruff check
	$(IN_VENV) --with dev -m ruff format --check
	$(IN_VENV) --with dev -m mypy
	$(IN_VENV) --with dev tools/check_docs.py

docs: export NO_MKDOCS_2_WARNING = 1
docs:  ## the documentation as a site in site/, without a request to another machine
	$(IN_VENV) --with docs -m mkdocs build --strict

pictures:  ## the pictures of the documentation, from three short runs that it plays (about five minutes)
	$(IN_VENV) --with dev tools/chromium.py
	$(IN_VENV) --with dev tools/screenshots.py

bench:  ## speed, beside torch and Stable-Baselines3 in the same run (about 8 minutes)
	$(IN_VENV) --with bench benchmarks/run.py

torture:  ## kill -9 hundreds of times, whole process groups too; fill the disk, jump and skew the clock, feed garbage (several minutes)
	$(IN_VENV) --with dev tools/torture

learn-check:  ## CartPole as in the example (half a minute), the Zerg bot (an hour and a quarter), shogi (up to half an hour), general tasks beside Stable-Baselines3 (hours; docs/learn-check.md)
	$(IN_VENV) --with gym examples/cartpole.py --check 0 1 2
	$(IN_VENV) --with zerg -m understudy zerg-check
	$(IN_VENV) --with shogi,plot -m understudy shogi-check
	$(IN_VENV) --with bench -m understudy learn-check --suite general
