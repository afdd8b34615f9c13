#!/usr/bin/env bash
# Types, format and lint: no warning is let through.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/run-node node_modules/typescript/bin/tsc -p .
scripts/run-node node_modules/typescript/bin/tsc -p web
scripts/run-node node_modules/@biomejs/biome/bin/biome ci --error-on-warnings .
