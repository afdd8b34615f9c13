#!/usr/bin/env bash
# Types, format, lint, and the voice of docstrings, titles and identifiers: no warning is let through.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/run-node node_modules/typescript/bin/tsc -p .
scripts/run-node node_modules/typescript/bin/tsc -p web
scripts/run-node node_modules/@biomejs/biome/bin/biome ci --error-on-warnings .
scripts/run-node --test-reporter=dot test/voice.test.ts
