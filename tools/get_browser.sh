#!/bin/sh
# Installs Chromium with its driver, for the tests that open the report in a browser. Called by make test.
# It only installs Debian's packages, as root. Without a browser these tests are skipped.
set -u

has() {
    for name; do
        command -v "$name" >/dev/null 2>&1 && return
    done
    return 1
}

complete() {
    has chromium chromium-browser google-chrome && has chromedriver
}

complete && exit
if [ "$(id -u)" -eq 0 ] && has apt-get; then
    printf 'browser: installing chromium and chromium-driver\n'
    { apt-get update && apt-get install -y --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1
fi
complete || printf '%s\n' \
    'browser: Chromium with chromedriver is missing, so the report is not tested in a browser' \
    '  (Debian: apt-get install chromium chromium-driver)'
