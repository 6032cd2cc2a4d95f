# All tasks of the project, by name. `make` alone lists them.
# Needs GNU make 3.81 or later, a POSIX shell and Python 3.11 to 3.13. All packages are installed in .venv,
# also developers' tools unless the first make has DEVELOPING=0.

# nproc counts the cores that this process may use, unless OMP_NUM_THREADS is set.
ifndef CORES
CORES := $(shell unset OMP_NUM_THREADS OMP_THREAD_LIMIT; nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

BIN := .venv/bin
ENVIRONMENT := .venv/.complete
# The environment with developers' tools.
TOOLS := .venv/.developing
SNAKEMAKE := $(BIN)/snakemake --cores $(CORES)
# For whole runs. After each job Snakemake starts a timer, and at its end it searches all ready jobs. By
# default the timer takes a second, and all timers together soon need as much time as ten jobs.
WHOLE := $(SNAKEMAKE) --max-jobs-per-timespan 1000/10s
PYTEST := $(BIN)/python -m pytest -n $(CORES) --dist worksteal
# The config of the run that `make report` describes.
LAST := .snakemake/last_config
LOCK_FLAGS :=
AUDIT_FLAGS :=
DOCKER := docker
# The results of a sweep, and the targets of `make plan` for a config with sweep in its name.
SWEEP := $(addprefix results/,tables/multirr_sweep.csv figures/multirr_sweep.svg)
TARGETS := $(if $(findstring sweep,$(notdir $(CONFIG))),$(SWEEP))
# Runs that `make costs` measures, FOLDER:CONFIG each; by default the last run here.
RUNS := $(addprefix .:,$(CONFIG))

# One BLAS thread per job: the same bytes on any number of cores, and jobs do not compete.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# For programs that Snakemake's jobs call by name. A PYTHONPATH of the caller would shadow the lock.
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONPATH
# Snakemake stores copies of sources below HOME, or in the project if HOME is not writable.
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

reproduce: $(ENVIRONMENT) ## make every table and figure at full size, and the report
	@mkdir -p $(dir $(LAST)) && echo config/config.yaml >$(LAST)
	$(WHOLE)

quick: $(ENVIRONMENT) ## make the same tables and figures from few replicates, in minutes
	@mkdir -p $(dir $(LAST)) && echo config/quick.yaml >$(LAST)
	$(WHOLE) --configfile config/quick.yaml

releases: $(ENVIRONMENT) ## make the releases of config/config.yaml, or of CONFIG, without estimates
	@$(BIN)/python tools/workflow_config.py $(CONFIG)
	$(WHOLE) --configfile $(or $(CONFIG),config/config.yaml) -- releases

report: $(ENVIRONMENT) ## make the report of the last run, also in one file (results/report.html), and Snakemake's report
	@test -f $(LAST) || { mkdir -p $(dir $(LAST)) && echo config/config.yaml >$(LAST); }
	$(SNAKEMAKE) results/report results/report.html --configfile "$$(cat $(LAST))"
	$(SNAKEMAKE) --report results/snakemake-report.html --configfile "$$(cat $(LAST))"

check: $(ENVIRONMENT) ## find missing, outdated and damaged results, by the config of the last run or by CONFIG
	$(BIN)/python tools/check_results.py $(if $(CONFIG),--configfile $(CONFIG))

compare: $(ENVIRONMENT) ## compare the last quick run with tests/baseline, within Monte Carlo error: results/comparison.md
	$(BIN)/python tools/compare_baseline.py

plan: $(ENVIRONMENT) ## print the expected costs of a run: CONFIG=config/quick.yaml, TARGETS=results/tables/...
	$(BIN)/python tools/plan_run.py --cores $(CORES) --configfile $(or $(CONFIG),config/config.yaml) $(TARGETS)

sweep: $(ENVIRONMENT) ## make the sweep of config/sweep.yaml, or of CONFIG (docs/sweeps.md)
	@$(BIN)/python tools/workflow_config.py $(CONFIG)
	$(WHOLE) --configfile $(or $(CONFIG),config/sweep.yaml) -- $(SWEEP)

costs: $(ENVIRONMENT) ## measure the costs of the last run, or of CONFIG, for `make plan`
	$(BIN)/python tools/measure_costs.py $(RUNS)

times: $(ENVIRONMENT) ## show the CPU time of the last run, or of CONFIG, by study and rule: results/benchmarks/
	$(BIN)/python tools/time_of_run.py $(CONFIG)

baseline: $(ENVIRONMENT) ## make the last quick run the baseline; replaces tests/baseline
	$(BIN)/python tools/compare_baseline.py --write

test: $(TOOLS) ## run the tests on all cores, without the slow ones
	@sh tools/get_browser.sh
	$(PYTEST) -m "not slow"

# Seconds of fuzzing of each function that reads input of users.
FUZZ ?= 300
test-all: test ## run make test, then the slow tests, with FUZZ seconds of fuzzing for each reader
	DENIABLE_FUZZ_SECONDS=$(FUZZ) $(PYTEST) -m slow

test-slurm: $(ENVIRONMENT) ## run the quick study on its own Slurm, with failures; as root; INSTALL=1 installs Slurm, PART=1 runs a part
	$(BIN)/python tools/slurm/check.py $(if $(INSTALL),--install) $(if $(PART),--part)

container: ## build the image of the Dockerfile and print its help; needs Docker, or DOCKER=podman
	$(DOCKER) build --tag deniable .
	$(DOCKER) run --rm deniable help

KILLS := 20
SEED := 20211121
test-kills: $(TOOLS) ## kill a whole run at KILLS random moments (drawn from SEED), and compare the bytes
	DENIABLE_KILLS=$(KILLS) DENIABLE_KILLS_SEED=$(SEED) $(BIN)/python -m pytest -s -k again_and_again tests/workflow/test_kills.py

bench: $(ENVIRONMENT) ## run the benchmarks
	$(BIN)/python benchmarks/run.py

docs: $(TOOLS) ## build the guides, findings, options and Python reference as a site: results/docs/index.html
	$(BIN)/python tools/build_docs.py results/docs

lint: $(TOOLS) ## check style, types, workflow and CI files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/Snakefile workflow/rules
	$(BIN)/python tools/lint_workflow.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

lock: $(TOOLS) ## write the locks and environment.yml from pyproject.toml; newer versions: LOCK_FLAGS=--upgrade
	$(BIN)/python tools/write_lock.py $(LOCK_FLAGS)

audit-dependencies: $(TOOLS) ## list known vulnerabilities of locked packages; skipped without a network
	$(BIN)/python tools/audit_dependencies.py $(AUDIT_FLAGS)

surrogates: $(ENVIRONMENT) ## refit the surrogates from the original data, into resources/surrogates/
	$(BIN)/snakemake --cores 1 fit_surrogates
	for file in results/surrogates/*.json; do case $$file in *.provenance.json) ;; *) cp $$file resources/surrogates/;; esac; done

# As an explicit target, it passes DEVELOPING to the script again.
environment: $(ENVIRONMENT) ## make .venv only; DEVELOPING=0: without developers' tools
	@$(if $(DEVELOPING),DEVELOPING='$(DEVELOPING)' PYTHON='$(PYTHON)' sh tools/make_environment.sh)

clean: ## remove results and .snakemake, but not .venv
	@found=$$(for name in key entry.json journal.json receipt.json; do ls -d results/releases/*/private/$$name 2>/dev/null; done); \
	test -z "$$found" || { echo "$$found"; echo "clean: these are production releases and cannot be drawn again; move them elsewhere first" >&2; exit 1; }
	rm -rf results .snakemake

distclean: clean ## also remove .venv
	rm -rf .venv

# The script compares contents, so new file times alone (a checkout, a touch) take no time.
$(ENVIRONMENT): requirements.lock pyproject.toml
	@DEVELOPING='$(DEVELOPING)' PYTHON='$(PYTHON)' sh tools/make_environment.sh

$(TOOLS): $(ENVIRONMENT) requirements-build.lock requirements-dev.lock
	@DEVELOPING=1 PYTHON='$(PYTHON)' sh tools/make_environment.sh

# An environment that was moved, or that lacks its Python, is built again.
ifneq ($(shell $(BIN)/python -ISc 'print(open("$(ENVIRONMENT)").read())' 2>/dev/null),$(CURDIR))
.PHONY: $(ENVIRONMENT)
endif
