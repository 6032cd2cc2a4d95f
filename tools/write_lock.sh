#!/bin/sh
# Writes requirements.lock and environment.yml from pyproject.toml. Called by make lock.
# Versions stay as they are where they still fit; pass --upgrade for the newest.
set -eu
cd "$(dirname "$0")/.."
new=.venv/new.lock
trap 'rm -f "$new" requirements.lock.part' EXIT
cp requirements.lock "$new"
# One file for every Python and system; no comments, index options or links: addresses are the
# installer's own.
.venv/bin/uv pip compile --quiet --universal --fork-strategy fewest --generate-hashes --all-extras \
    --no-header --no-annotate "$@" --output-file "$new" pyproject.toml
{
    printf '# Every package, pinned and hashed, for all supported Pythons and systems.\n'
    printf '# Written by make lock (tools/write_lock.sh) from pyproject.toml; do not edit.\n'
    cat "$new"
} >requirements.lock.part
mv requirements.lock.part requirements.lock
.venv/bin/python tools/write_environment.py
