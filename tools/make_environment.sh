#!/bin/sh
# Builds .venv: a suitable Python, every package of the locks, and the project itself in place.
# Called by make. It uses plain pip, so that the user's own index settings apply.
#
#   PYTHON=python3.12 tools/make_environment.sh     with this Python and no other
#   DEVELOPING=0 tools/make_environment.sh          only the packages of a run: no tests, no developers' tools
#   DEVELOPING=1 tools/make_environment.sh          with developers' tools, added to an existing environment
#
# Without DEVELOPING an environment keeps its packages, and a new one gets all packages, so that only the
# first make needs a network.
#
# .venv/.complete is written last: without it an environment counts as incomplete and is built again.
# It contains the project's folder, because an environment that was moved has wrong paths in its scripts.
# .venv/.developing does the same for developers' tools; .venv/.plain means that they were not requested.
set -eu
cd "$(dirname "$0")/.."
environment=.venv
stamp=$environment/.complete
developing_stamp=$environment/.developing
plain=$environment/.plain
runtime=requirements.lock
tools="requirements-build.lock requirements-dev.lock"
log=$environment/install.log
installer=

fail() {
    printf 'environment: %s\n' "$*" >&2
    exit 1
}

# Background processes do not receive Ctrl-C, so this script ends them.
interrupted() {
    if [ -n "$installer" ]; then kill "$installer" 2>/dev/null || :; fi
    fail "interrupted; the next make starts again"
}
trap interrupted HUP INT TERM

# The range is only in pyproject.toml: requires-python = ">=LOW,<HIGH".
range=$(sed -n 's/^requires-python = ">=\([0-9.]*\),<\([0-9.]*\)"$/\1 \2/p' pyproject.toml)
[ -n "$range" ] || fail 'pyproject.toml has no line of the form requires-python = ">=3.x,<3.y"'
low=${range% *}
high=${range#* }

# Run each candidate, because a name on the path may be a failing shim, or lack venv or ensurepip.
fits() {
    "$1" - "$low" "$high" >/dev/null 2>&1 <<'EOF'
import ensurepip, sys, venv

low, high = (tuple(map(int, text.split("."))) for text in sys.argv[1:])
sys.exit(not low <= sys.version_info[:2] < high)
EOF
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "PYTHON=$PYTHON does not run, is not >=$low,<$high, or lacks venv or ensurepip"
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11; do
        if fits "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python >=$low,<$high with venv and ensurepip found; install one (Debian: also its python3-venv), or name it: make PYTHON=/path/to/python"
}

seconds() { date +%s; }

# Number of packages of these locks for this system, without the ones for Windows.
count() {
    cat "$@" | grep '^[a-z0-9].*==' | grep -vc "sys_platform == 'win32'"
}

# install TOTAL ARGUMENT...: run pip in the background; print its progress every few seconds.
install() {
    total=$1
    shift
    started=$(seconds)
    next=10
    "$environment/bin/python" -m pip install \
        --no-input --disable-pip-version-check --no-compile --no-deps "$@" \
        >"$log" 2>&1 &
    installer=$!
    while kill -0 "$installer" 2>/dev/null; do
        sleep 1
        elapsed=$(($(seconds) - started))
        [ "$elapsed" -ge "$next" ] || continue
        next=$((elapsed + 10))
        if grep -q '^Installing collected' "$log"; then
            printf '  unpacking, %s s\n' "$elapsed"
        else
            printf '  fetched %s of %s, %s s\n' "$(grep -c '^Collecting' "$log" || :)" "$total" "$elapsed"
        fi
    done
    status=0
    wait "$installer" || status=$?
    installer=
    [ "$status" -eq 0 ] && return
    tail -n 20 "$log" >&2
    fail "pip failed; its whole output is in $log"
}

# install_locks LOCK...: install all packages of these; keep a copy of each, to detect later changes.
install_locks() {
    total=$(count "$@")
    printf 'environment: installing the %s packages of %s\n' "$total" "$*"
    requirements=
    for lock in "$@"; do requirements="$requirements --requirement $lock"; done
    # shellcheck disable=SC2086 # our own names, without spaces
    install "$total" --require-hashes $requirements
    cp "$@" "$environment"
}

# Without developers' tools, the packages that build the project are removed afterwards.
install_project() {
    printf 'environment: installing the project in place\n'
    building=$(pwd -P)/$environment/building
    if [ "$developing" = 0 ]; then
        rm -rf "$building"
        install "$(count requirements-build.lock)" --target "$building" --require-hashes \
            --requirement requirements-build.lock
        PYTHONPATH=$building
        export PYTHONPATH
    fi
    rm -f "$stamp"
    install 1 --no-build-isolation --editable .
    rm -rf "$building"
    unset PYTHONPATH
    cp pyproject.toml "$environment/pyproject.toml"
}

check() {
    "$environment/bin/python" -m pip check --disable-pip-version-check >"$log" 2>&1 ||
        { cat "$log" >&2; fail "the locks do not fit pyproject.toml; run make lock"; }
}

# Compiled once, in parallel and without modules that are never imported: Snakemake and each of its jobs
# start in a third of the time, also with PYTHONDONTWRITEBYTECODE. pip itself compiles serially.
compile() {
    env -u PYTHONDONTWRITEBYTECODE "$environment/bin/python" -m compileall -q -j 0 \
        -x '/(tests?|pip|setuptools|pkg_resources|mypyc?|sqlalchemy/testing)/' \
        "$environment/lib" src workflow >>"$log" 2>&1 ||
        printf '  some files could not be compiled (see %s), so starts are slower\n' "$log"
}

finish() {
    pwd -P >"$stamp"
    if [ "$developing" = 1 ]; then
        rm -f "$plain"
        pwd -P >"$developing_stamp"
    else
        : >"$plain"
    fi
}

# current STAMP LOCK...: whether the stamp is of this folder, and the locks were installed.
current() {
    [ "$(cat "$1" 2>/dev/null)" = "$(pwd -P)" ] || return 1
    shift
    for lock in "$@"; do cmp -s "$lock" "$environment/$lock" || return 1; done
}

began=$(seconds)
developing=${DEVELOPING:-}
case $developing in
    '' | 0 | 1) ;;
    *) fail "DEVELOPING is 0 (only the packages of a run) or 1 (also developers' tools), not $developing" ;;
esac
if [ -z "$developing" ]; then
    if [ -e "$plain" ]; then developing=0; else developing=1; fi
fi
if [ -e "$developing_stamp" ]; then has_tools=1; else has_tools=0; fi
usable=0
if current "$stamp" $runtime && fits "$environment/bin/python"; then
    # shellcheck disable=SC2086 # two names
    if [ "$has_tools" = 0 ] || { [ "$developing" = 1 ] && current "$developing_stamp" $tools; }; then
        usable=1
    fi
fi

# All requested packages exist, except perhaps developers' tools: their lock only adds packages.
if [ "$usable" = 1 ]; then
    if [ "$developing" = 1 ] && [ "$has_tools" = 0 ]; then
        # shellcheck disable=SC2086 # two names
        install_locks $tools
        check
        printf 'environment: compiling\n'
        compile
        printf 'environment: ready, %s s\n' "$(($(seconds) - began))"
    fi
    if ! cmp -s pyproject.toml "$environment/pyproject.toml"; then
        # The packages are still valid, and a developer's environment can build the project.
        printf 'environment: pyproject.toml changed\n'
        install_project
    fi
    finish
    exit
fi

# Snakemake runs scripts by the unquoted path of its Python.
case $(pwd -P) in
    *[[:space:]]*) fail "the path of this folder has a space, so Snakemake cannot run scripts: $(pwd -P)" ;;
esac
python=$(find_python) || exit 1
locks=$runtime
if [ "$developing" = 1 ]; then locks="$runtime $tools"; fi
printf 'environment: building .venv with %s (%s), once; about a minute, about 1 GB\n' \
    "$python" "$("$python" -c 'import platform; print(platform.python_version())')"
rm -rf "$environment"
"$python" -m venv "$environment"
if [ "$developing" = 0 ]; then : >"$plain"; fi
# shellcheck disable=SC2086 # our own names
install_locks $locks
install_project
check
printf 'environment: compiling\n'
compile
finish
printf 'environment: ready, %s s\n' "$(($(seconds) - began))"
