import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAsset, getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import manifest from '../../package.json' with { type: 'json' };
import { EntryDirectory } from './entry-directory.ts';

/**
 * Returns the URL of a file of the source.
 *
 * The program runs from its source, or as one file that `npm run build:binary` makes. That file carries assets:
 * `build.json`, `licences.txt.gz`, `entries.json` (SHA-256 of each entry, and what it loads), `entries/…` and `web/…`.
 */
const inSource = (path: string) => new URL(`../../${path}`, import.meta.url);

let entries: EntryDirectory | undefined;
let isBundled: boolean | undefined;

/**
 * Returns the module from which a thread starts.
 *
 * In the source it is the bundle that set-up made, which takes a quarter of the CPU time of its 700 files; once one of
 * those has changed, it is the source file.
 *
 * @param name its path below the root without extension, such as `actors/source/actor`
 * @throws {PlatformError} TEMP_UNUSABLE in the one file, which must write entries out: threads start from files
 */
export function entryUrl(name: string): URL {
  if (!isSea()) {
    isBundled ??= isBundleCurrent();
    return inSource(isBundled ? `dist/entries/${name}.mjs` : `${name}.ts`);
  }
  entries ??= new EntryDirectory(JSON.parse(getAsset('entries.json', 'utf8')), (entry) =>
    readAsset(`entries/${entry}`)
  );
  return pathToFileURL(entries.place(`${name}.mjs`));
}

/** Returns the console's built files by their path below `dist/web`; none when it was not built. */
export function readWebFiles(): ReadonlyMap<string, Uint8Array> {
  if (isSea()) {
    const keys = getAssetKeys().filter((key) => key.startsWith('web/'));
    return new Map(keys.map((key) => [key.slice('web/'.length), readAsset(key)]));
  }
  const directory = fileURLToPath(inSource('dist/web/'));
  try {
    const found = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = found.map(({ parentPath, name }) => join(parentPath, name));
    return new Map(paths.map((path) => [path.slice(directory.length), readFileSync(path)]));
  } catch (caught) {
    if ((caught as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw caught;
  }
}

/** Version without commit and date. */
export const VERSION: string = manifest.version;

/** Returns the version; in the one file also its commit and the commit's date. */
export function describeVersion(): string {
  if (!isSea()) return manifest.version;
  const { commit, date } = JSON.parse(getAsset('build.json', 'utf8')) as { commit: string; date: string };
  return `${manifest.version} (commit ${commit}, ${date})`;
}

/** Returns the licences of all parts of the one file; in the source a note where they are. */
export async function describeLicences(): Promise<string> {
  if (isSea()) return (await promisify(gunzip)(getAsset('licences.txt.gz'))).toString().trimEnd();
  return 'each package below node_modules holds its licence; the one file prints all of them';
}

function isBundleCurrent(): boolean {
  try {
    const digests = JSON.parse(readFileSync(inSource('dist/entries/sources.json'), 'utf8')) as Record<string, string>;
    return Object.entries(digests).every(([path, digest]) => {
      return (
        createHash('sha256')
          .update(readFileSync(inSource(path)))
          .digest('hex') === digest
      );
    });
  } catch (caught) {
    if (['ENOENT', 'ENOTDIR'].includes((caught as NodeJS.ErrnoException).code ?? '')) return false;
    throw caught;
  }
}

function readAsset(key: string): Uint8Array {
  return new Uint8Array(getRawAsset(key));
}
