#!/bin/sh
# Builds .venv: a Python that fits, every package of requirements.lock, the project itself in place.
# Called by make. Plain pip, so that the user's own index settings hold.
#
#   PYTHON=python3.12 tools/make_environment.sh     with this Python and no other
#
# .venv/.complete is written last: without it an environment counts as half-built and is made anew.
# It holds the project's folder, because an environment that was moved has wrong paths in its scripts.
set -eu
cd "$(dirname "$0")/.."
environment=.venv
stamp=$environment/.complete
log=$environment/install.log
installer=

fail() {
    printf 'environment: %s\n' "$*" >&2
    exit 1
}

# What runs in the background does not see Ctrl-C: end it with this script.
interrupted() {
    if [ -n "$installer" ]; then kill "$installer" 2>/dev/null || :; fi
    fail "interrupted; the next make starts it afresh"
}
trap interrupted HUP INT TERM

# The range is written once, in pyproject.toml: requires-python = ">=LOW,<HIGH".
range=$(sed -n 's/^requires-python = ">=\([0-9.]*\),<\([0-9.]*\)"$/\1 \2/p' pyproject.toml)
[ -n "$range" ] || fail 'pyproject.toml has no line of the form requires-python = ">=3.x,<3.y"'
low=${range% *}
high=${range#* }

# Run each candidate: a name on the path may be a shim that fails, or lack venv or pip's installer.
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

# install TOTAL ARGUMENT...: pip in the background, its progress as one line every few seconds.
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

install_project() {
    install 1 --no-build-isolation --editable .
    cp pyproject.toml "$environment/pyproject.toml"
}

# Compiled once, in parallel and without what is never imported: Snakemake and each of its jobs start
# in a third of the time, also where PYTHONDONTWRITEBYTECODE is set. pip's own compiling is serial.
compile() {
    env -u PYTHONDONTWRITEBYTECODE "$environment/bin/python" -m compileall -q -j 0 \
        -x '/(tests?|pip|setuptools|pkg_resources|mypyc?|sqlalchemy/testing)/' \
        "$environment/lib" src >>"$log" 2>&1 ||
        printf '  some files could not be compiled (see %s): slower starts, nothing else\n' "$log"
}

finish() {
    pwd -P >"$stamp"
}

began=$(seconds)
# Only the project file changed (or file times did): the packages are still right, and no network is needed.
if [ "$(cat "$stamp" 2>/dev/null)" = "$(pwd -P)" ] &&
    cmp -s requirements.lock "$environment/requirements.lock" && fits "$environment/bin/python"; then
    if ! cmp -s pyproject.toml "$environment/pyproject.toml"; then
        printf 'environment: pyproject.toml changed, installing the project again\n'
        rm -f "$stamp"
        install_project
    fi
    finish
    exit
fi

# Snakemake runs scripts by the unquoted path of its Python.
case $(pwd -P) in
    *[[:space:]]*) fail "the path of this folder has a space in it, where Snakemake cannot run scripts: $(pwd -P)" ;;
esac
python=$(find_python) || exit 1
total=$(grep '^[a-z0-9].*==' requirements.lock | grep -vc "sys_platform == 'win32'")
printf 'environment: building .venv with %s (%s), once; about a minute, about 1 GB\n' \
    "$python" "$("$python" -c 'import platform; print(platform.python_version())')"
rm -rf "$environment"
"$python" -m venv "$environment"
printf 'environment: installing the %s packages of requirements.lock\n' "$total"
install "$total" --require-hashes --requirement requirements.lock
cp requirements.lock "$environment/requirements.lock"
printf 'environment: installing the project in place\n'
install_project
"$environment/bin/python" -m pip check --disable-pip-version-check >"$log" 2>&1 ||
    { cat "$log" >&2; fail "requirements.lock does not fit pyproject.toml; run make lock"; }
printf 'environment: compiling\n'
compile
finish
printf 'environment: ready, %s s\n' "$(($(seconds) - began))"
