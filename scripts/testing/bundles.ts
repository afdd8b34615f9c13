import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../root.ts';
import { isSlow } from './tiers.ts';

/** Rooms whose files share processes, one file after the other. A room joins when all its files have passed so. */
const SHARED = [
  'test/fault',
  'test/federation',
  'test/foreign',
  'test/integration',
  'test/model',
  'test/property',
  'test/simulation',
  'test/unit'
];
/** Files of these rooms with a process of their own: they load modules of the product in another way than their neighbours. */
const OWN_PROCESS: readonly string[] = ['test/integration/simulation-contract.test.ts'];
/** Directory of the modules that import one file each and have its path below it; before all others in order. */
export const ALONE = '0-alone';
/** Most files of one process: many small bundles end at the same time. */
const MOST_FILES = 8;
const RUN_FILES = pathToFileURL(join(ROOT, 'test/support/run-files.ts')).href;

/**
 * Writes the modules that a tier runs: one for several files of a room that share a process, and one for each other file. Those come
 * first, since the longest are among them.
 *
 * @param files test files below the root
 * @returns what node:test is to run instead; it runs them in the order of their names
 */
export function bundleTier(files: readonly string[], directory: string): string[] {
  const isShared = (file: string) =>
    !isSlow(file) && !OWN_PROCESS.includes(file) && SHARED.some((room) => file.startsWith(`${room}/`));
  const alone = files
    .filter((file) => !isShared(file))
    .map((file) => {
      const path = join(directory, ALONE, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `import '${pathToFileURL(join(ROOT, file)).href}';\n`);
      return path;
    });
  return [...alone, ...bundleFiles(files.filter(isShared), directory)];
}

/** Writes the modules for files that all share processes: several for a room that has many. */
export function bundleFiles(files: readonly string[], directory: string): string[] {
  const byRoom = new Map<string, string[]>();
  for (const file of files.toSorted()) {
    const room = file.split('/').slice(1, -1).slice(0, 2).join('-');
    byRoom.set(room, [...(byRoom.get(room) ?? []), file]);
  }
  return [...byRoom].flatMap(([room, all]) => {
    const count = Math.ceil(all.length / MOST_FILES);
    return Array.from({ length: count }, (_, number) => {
      const path = join(directory, `${room}-${number + 1}.mjs`);
      const own = all.filter((_, index) => index % count === number);
      const urls = Object.fromEntries(own.map((file) => [file, pathToFileURL(join(ROOT, file)).href]));
      writeFileSync(path, `import { runFiles } from '${RUN_FILES}';\nrunFiles(${JSON.stringify(urls, null, 2)});\n`);
      return path;
    });
  });
}
