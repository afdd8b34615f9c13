import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CONFIGURATION_FILE, renderConfiguration } from '../scripts/generate-configuration.ts';

test('docs/configuration.md lists the variables as they are; if not: npm run configuration', async () => {
  assert.equal(readFileSync(CONFIGURATION_FILE, 'utf8'), await renderConfiguration());
});
