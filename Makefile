# Everything that one does with the project, by name. `make` alone lists it.
# Needs GNU make 3.81 or later, a POSIX shell and Python 3.11 to 3.13; the rest is installed in .venv.

# nproc knows what this process may use, but takes OMP_NUM_THREADS for it where that is set.
ifndef CORES
CORES := $(shell unset OMP_NUM_THREADS OMP_THREAD_LIMIT; nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

BIN := .venv/bin
ENVIRONMENT := .venv/.complete
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
# Which config `make report` is to report on.
LAST := .snakemake/last_config
LOCK_FLAGS :=

# One BLAS thread a job: the same bytes on any number of cores, and jobs do not compete.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# For what Snakemake's jobs call by name; a PYTHONPATH of the caller's would shadow the lock.
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH

.DEFAULT_GOAL := help
.PHONY: help reproduce quick report check test bench lint lock surrogates environment clean distclean

help: ## list the targets
	@echo "make TARGET [CORES=n] [PYTHON=python3.x]    CORES is $(CORES) here"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1@\2/p' Makefile | awk -F@ '{ printf "%-14s%s\n", $$1, $$2 }'

reproduce: $(ENVIRONMENT) ## every table and figure at full size, and the report
	@mkdir -p $(dir $(LAST)) && echo config/config.yaml >$(LAST)
	$(SNAKEMAKE)

quick: $(ENVIRONMENT) ## the same tables and figures from few replicates, in minutes
	@mkdir -p $(dir $(LAST)) && echo config/quick.yaml >$(LAST)
	$(SNAKEMAKE) --configfile config/quick.yaml

report: $(ENVIRONMENT) ## results/report.html and Snakemake's own report, of the last run's config
	@test -f $(LAST) || { mkdir -p $(dir $(LAST)) && echo config/config.yaml >$(LAST); }
	$(SNAKEMAKE) results/report.html --configfile "$$(cat $(LAST))"
	$(SNAKEMAKE) --report results/snakemake-report.html --configfile "$$(cat $(LAST))"

check: $(ENVIRONMENT) ## that the last run left every table, figure, the audit and the report
	$(BIN)/python tools/check_results.py

test: $(ENVIRONMENT) ## the tests, on all cores
	$(BIN)/python -m pytest -n $(CORES)

bench: $(ENVIRONMENT) ## the benchmarks
	$(BIN)/python benchmarks/run.py

lint: $(ENVIRONMENT) ## style, types, workflow and CI files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/python tools/lint_workflow.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

lock: $(ENVIRONMENT) ## requirements.lock and environment.yml from pyproject.toml; newer versions: LOCK_FLAGS=--upgrade
	sh tools/write_lock.sh $(LOCK_FLAGS)

surrogates: $(ENVIRONMENT) ## refit the surrogates from the original data, into resources/surrogates/
	$(BIN)/snakemake --cores 1 fit_surrogates
	cp results/surrogates/*.json resources/surrogates/

environment: $(ENVIRONMENT) ## .venv only

clean: ## remove results and Snakemake's records, keep .venv
	@! grep -ls '"rehearsal": false' results/releases/*/channels.json || { echo "clean: the releases above are no rehearsals and cannot be drawn again; move them elsewhere first" >&2; exit 1; }
	rm -rf results .snakemake

distclean: clean ## also remove .venv
	rm -rf .venv

# The script looks at contents, so new file times alone (a checkout, a touch) cost nothing.
$(ENVIRONMENT): requirements.lock pyproject.toml
	@PYTHON='$(PYTHON)' sh tools/make_environment.sh

# An environment that was moved, or whose Python is gone, is no environment.
ifneq ($(shell $(BIN)/python -ISc 'print(open("$(ENVIRONMENT)").read())' 2>/dev/null),$(CURDIR))
.PHONY: $(ENVIRONMENT)
endif
