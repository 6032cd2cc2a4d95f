# All tasks of the project, by name. `make` alone lists them.
# Needs GNU make 3.81 or later, a POSIX shell and Python 3.11 to 3.13; the rest is installed in .venv,
# developers' tools too unless the first make has DEVELOPING=0.

# nproc knows what this process may use, but takes OMP_NUM_THREADS for it where that is set.
ifndef CORES
CORES := $(shell unset OMP_NUM_THREADS OMP_THREAD_LIMIT; nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

BIN := .venv/bin
ENVIRONMENT := .venv/.complete
# The same with developers' tools.
TOOLS := .venv/.developing
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
# Of whole runs. Each job that ends leaves Snakemake a timer, at whose end it looks through all that
# is ready, and starts another: every second by default, which soon costs as much as ten jobs.
WHOLE := $(SNAKEMAKE) --max-jobs-per-timespan 1000/10s
PYTEST := $(BIN)/python -m pytest -n $(CORES) --dist worksteal
# Which config `make report` is to report on.
LAST := .snakemake/last_config
LOCK_FLAGS :=
AUDIT_FLAGS :=
DOCKER := docker
# What a sweep makes, and what `make plan` plans of a config that has sweep in its name.
SWEEP := $(addprefix results/,tables/multirr_sweep.csv figures/multirr_sweep.svg)
TARGETS := $(if $(findstring sweep,$(notdir $(CONFIG))),$(SWEEP))
# Runs that `make costs` measures, FOLDER:CONFIG each; the last one here, if there is none.
RUNS := $(addprefix .:,$(CONFIG))

# One BLAS thread a job: the same bytes on any number of cores, and jobs do not compete.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# For what Snakemake's jobs call by name; a PYTHONPATH of the caller's would shadow the lock.
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH
# Snakemake keeps copies of sources below HOME; where nothing can be written there, in the project.
ifeq (,$(shell folder="$${XDG_CACHE_HOME:-$$HOME/.cache}"; mkdir -p "$$folder" 2>/dev/null && test -w "$$folder" && echo there))
export XDG_CACHE_HOME := $(CURDIR)/.snakemake/cache
export MPLCONFIGDIR := $(XDG_CACHE_HOME)/matplotlib
endif

.DEFAULT_GOAL := help
.PHONY: help reproduce quick releases report check baseline compare test test-all test-kills test-slurm bench docs lint lock surrogates environment clean distclean
.PHONY: plan sweep costs times container audit-dependencies

help: ## list the targets
	@echo "make TARGET [CORES=n] [PYTHON=python3.x] [DEVELOPING=0]    CORES is $(CORES) here"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1@\2/p' Makefile | awk -F@ '{ printf "%-21s%s\n", $$1, $$2 }'

reproduce: $(ENVIRONMENT) ## every table and figure at full size, and the report
	@mkdir -p $(dir $(LAST)) && echo config/config.yaml >$(LAST)
	$(WHOLE)

quick: $(ENVIRONMENT) ## the same tables and figures from few replicates, in minutes
	@mkdir -p $(dir $(LAST)) && echo config/quick.yaml >$(LAST)
	$(WHOLE) --configfile config/quick.yaml

releases: $(ENVIRONMENT) ## the releases of config/config.yaml, or of CONFIG, without estimates
	@$(BIN)/python tools/workflow_config.py $(CONFIG)
	$(WHOLE) --configfile $(or $(CONFIG),config/config.yaml) -- releases

report: $(ENVIRONMENT) ## the report, also in one file (results/report.html), and Snakemake's own, of the last run's config
	@test -f $(LAST) || { mkdir -p $(dir $(LAST)) && echo config/config.yaml >$(LAST); }
	$(SNAKEMAKE) results/report results/report.html --configfile "$$(cat $(LAST))"
	$(SNAKEMAKE) --report results/snakemake-report.html --configfile "$$(cat $(LAST))"

check: $(ENVIRONMENT) ## compare all results with the config of the last run, or with CONFIG: missing, outdated, damaged ones
	$(BIN)/python tools/check_results.py $(if $(CONFIG),--configfile $(CONFIG))

compare: $(ENVIRONMENT) ## the last quick run with tests/baseline, within Monte Carlo error: results/comparison.md
	$(BIN)/python tools/compare_baseline.py

plan: $(ENVIRONMENT) ## the costs of a run, before it starts: CONFIG=config/quick.yaml, TARGETS=results/tables/...
	$(BIN)/python tools/plan_run.py --cores $(CORES) --configfile $(or $(CONFIG),config/config.yaml) $(TARGETS)

sweep: $(ENVIRONMENT) ## the sweep of config/sweep.yaml, or of CONFIG; docs/sweeps.md
	@$(BIN)/python tools/workflow_config.py $(CONFIG)
	$(WHOLE) --configfile $(or $(CONFIG),config/sweep.yaml) -- $(SWEEP)

costs: $(ENVIRONMENT) ## measure the costs that `make plan` counts with: of the last run, or of CONFIG's
	$(BIN)/python tools/measure_costs.py $(RUNS)

times: $(ENVIRONMENT) ## CPU time of the last run, or of CONFIG, by study and rule: results/benchmarks/
	$(BIN)/python tools/time_of_run.py $(CONFIG)

baseline: $(ENVIRONMENT) ## make the last quick run the baseline: rewrites tests/baseline
	$(BIN)/python tools/compare_baseline.py --write

test: $(TOOLS) ## run the tests on all cores, without the slow ones
	@sh tools/get_browser.sh
	$(PYTEST) -m "not slow"

# Seconds for which each reader of what people give is fuzzed.
FUZZ ?= 300
test-all: test ## make test, then the tests marked slow, with FUZZ seconds of fuzzing for each reader
	DENIABLE_FUZZ_SECONDS=$(FUZZ) $(PYTEST) -m slow

test-slurm: $(ENVIRONMENT) ## the quick study on a Slurm of its own, with errors; as root; INSTALL=1 installs Slurm, PART=1: a part of the study
	$(BIN)/python tools/slurm/check.py $(if $(INSTALL),--install) $(if $(PART),--part)

container: ## build the image of the Dockerfile and ask it for help; needs Docker, or DOCKER=podman
	$(DOCKER) build --tag deniable .
	$(DOCKER) run --rm deniable help

KILLS := 20
SEED := 20211121
test-kills: $(TOOLS) ## kill a whole run at KILLS random moments (drawn from SEED): the same bytes
	DENIABLE_KILLS=$(KILLS) DENIABLE_KILLS_SEED=$(SEED) $(BIN)/python -m pytest -s -k again_and_again tests/workflow/test_kills.py

bench: $(ENVIRONMENT) ## the benchmarks
	$(BIN)/python benchmarks/run.py

docs: $(TOOLS) ## guides, findings, options and the Python reference as a site: results/docs/index.html
	$(BIN)/python tools/build_docs.py results/docs

lint: $(TOOLS) ## style, types, workflow and CI files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules
	$(BIN)/python tools/lint_workflow.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

lock: $(TOOLS) ## the locks and environment.yml from pyproject.toml; newer versions: LOCK_FLAGS=--upgrade
	$(BIN)/python tools/write_lock.py $(LOCK_FLAGS)

audit-dependencies: $(TOOLS) ## known vulnerabilities of locked packages; skipped without a network
	$(BIN)/python tools/audit_dependencies.py $(AUDIT_FLAGS)

surrogates: $(ENVIRONMENT) ## refit the surrogates from the original data, into resources/surrogates/
	$(BIN)/snakemake --cores 1 fit_surrogates
	for file in results/surrogates/*.json; do case $$file in *.provenance.json) ;; *) cp $$file resources/surrogates/;; esac; done

# Asked for by name, the script also hears whether with developers' tools or without.
environment: $(ENVIRONMENT) ## .venv only; DEVELOPING=0: without development tools
	@$(if $(DEVELOPING),DEVELOPING='$(DEVELOPING)' PYTHON='$(PYTHON)' sh tools/make_environment.sh)

clean: ## remove results and .snakemake, keep .venv
	@found=$$(for name in key entry.json journal.json receipt.json; do ls -d results/releases/*/private/$$name 2>/dev/null; done); \
	test -z "$$found" || { echo "$$found"; echo "clean: these are production releases and cannot be drawn again; move them elsewhere first" >&2; exit 1; }
	rm -rf results .snakemake

distclean: clean ## also remove .venv
	rm -rf .venv

# The script looks at contents, so new file times alone (a checkout, a touch) cost nothing.
$(ENVIRONMENT): requirements.lock pyproject.toml
	@DEVELOPING='$(DEVELOPING)' PYTHON='$(PYTHON)' sh tools/make_environment.sh

$(TOOLS): $(ENVIRONMENT) requirements-build.lock requirements-dev.lock
	@DEVELOPING=1 PYTHON='$(PYTHON)' sh tools/make_environment.sh

# An environment that was moved, or whose Python is gone, is no environment.
ifneq ($(shell $(BIN)/python -ISc 'print(open("$(ENVIRONMENT)").read())' 2>/dev/null),$(CURDIR))
.PHONY: $(ENVIRONMENT)
endif
