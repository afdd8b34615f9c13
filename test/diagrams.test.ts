import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { DIAGRAM_DIRECTORY, renderDiagrams } from '../scripts/documents/diagrams.ts';

test('docs/machines/ shows the machines as they are; if not: npm run diagrams', async () => {
  const pages = await renderDiagrams();
  assert.deepEqual(readdirSync(DIAGRAM_DIRECTORY).sort(), [...pages.keys()].sort());
  for (const [name, content] of pages) {
    assert.equal(readFileSync(join(DIAGRAM_DIRECTORY, name), 'utf8'), content, `${name} is stale: npm run diagrams`);
  }
});
