import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../root.ts';
import { bundleEntries } from './bundle.ts';

const OUT = join(ROOT, 'dist', 'entries');
/** Files that decide which packages are in the bundles. */
const LOCK = 'package-lock.json';

/**
 * Builds dist/entries, from which threads start when the program runs from its source: 20 files instead of 700.
 *
 * `sources.json` holds the SHA-256 of each source file, so that the program notices changes.
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
