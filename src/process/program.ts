import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAsset, getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath, pathToFileURL } from 'node:url';
import manifest from '../../package.json' with { type: 'json' };
import { EntryDirectory, makePrivateDirectory, SHARED_DIRECTORY } from './entry-directory.ts';

/**
 * The parts of this program and where they come from: the files of the source, or the one file that
 * `npm run build:binary` makes of them. That carries as assets `build.json`, `entries.json` (SHA-256 of each entry, and what it
 * loads), `entries/…` and `web/…`.
 */
const inSource = (path: string) => new URL(`../../${path}`, import.meta.url);

/** The command that runs this program once more; arguments follow. */
export const SELF: readonly [string, ...string[]] = isSea()
  ? [process.execPath]
  : [process.execPath, ...process.execArgv, process.argv[1] ?? ''];

let entries: EntryDirectory | undefined;
let isBundled: boolean | undefined;

/**
 * The module that a thread starts from: of the source the bundle that set-up made (a quarter of the CPU of its 700 files), unless
 * something that it is made of has changed since.
 *
 * @param name its path below the root without its extension, like `actors/source/actor`
 * @throws {PlatformError} TEMP_UNUSABLE: threads start from files, so those of the one file are written out
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

/**
 * For a process that starts others of this program: the variables by which they share its entries, so that nothing stays
 * behind when one of them is killed.
 *
 * @throws {PlatformError} TEMP_UNUSABLE
 */
export function sharedEntries(): Readonly<Record<string, string>> {
  return isSea() ? { [SHARED_DIRECTORY]: makePrivateDirectory() } : {};
}

/** The console's built files by their path below `dist/web`; none when it was not built. */
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

/** The version alone. */
export const VERSION: string = manifest.version;

/** The version; of the one file also the commit that it was built from, and that commit's date. */
export function describeVersion(): string {
  if (!isSea()) return manifest.version;
  const { commit, date } = JSON.parse(getAsset('build.json', 'utf8')) as { commit: string; date: string };
  return `${manifest.version} (commit ${commit}, ${date})`;
}

/** The licences of all that the one file is made of; of a source directory where they are. */
export function describeLicences(): string {
  if (isSea()) return getAsset('licences.txt', 'utf8').trimEnd();
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
