#!/bin/sh
# Gets Chromium with its driver, for the tests that open the report in a browser. Called by make test.
# Only root is given packages, and only from Debian's own; elsewhere those tests are skipped.
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
    'browser: there is no Chromium with chromedriver, so the report is not tested in one' \
    '  (Debian: apt-get install chromium chromium-driver)'
