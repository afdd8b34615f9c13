import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { bundleEntries } from './bundle.ts';

const OUT = join(ROOT, 'dist', 'entries');
/** What the packages of the bundles come from. */
const LOCK = 'package-lock.json';

/**
 * Builds dist/entries, what threads start from where the program runs from its source: 20 files instead of 700. `sources.json` has the
 * SHA-256 of each file that they are made of, by which the program knows that they are still the same.
 */
async function buildEntries(): Promise<void> {
  const work = mkdtempSync(`${OUT}-`);
  try {
    const { sources } = await bundleEntries(work, { sourcemap: 'linked' });
    const digests = [...sources, LOCK].map((path) => [path, sha256(readFileSync(join(ROOT, path)))]);
    writeFileSync(join(work, 'sources.json'), JSON.stringify(Object.fromEntries(digests), null, 2));
    rmSync(OUT, { recursive: true, force: true });
    renameSync(work, OUT);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

await buildEntries();
