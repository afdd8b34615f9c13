#!/usr/bin/env bash
# Runs the tests on the pinned Node with one private MariaDB: all of them, or the files, globs and options given.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
exec scripts/run-node scripts/testing/with-mariadb.ts "$@"
