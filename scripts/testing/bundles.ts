import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../root.ts';

/** Rooms whose files share processes, one file after the other in each. A room joins when all its files have passed so. */
const SHARED = ['test/foreign', 'test/integration/chain', 'test/integration/db'];
/** Most files of one process: many small bundles end at the same time. */
const MOST_FILES = 12;
const RUN_FILES = pathToFileURL(join(ROOT, 'test/support/run-files.ts')).href;

/**
 * Writes one module for the files of each of these rooms, or several of them where there are many files.
 *
 * @param files test files below the root
 * @param rooms default: those whose files share processes in `npm test`
 * @returns what node:test is to run instead
 */
export function bundleFiles(files: readonly string[], directory: string, rooms = SHARED): string[] {
  const alone: string[] = [];
  const byRoom = new Map<string, string[]>();
  for (const file of files.toSorted()) {
    if (!rooms.some((room) => file.startsWith(`${room}/`))) alone.push(file);
    else {
      const room = file.split('/').slice(1, -1).slice(0, 2).join('-');
      byRoom.set(room, [...(byRoom.get(room) ?? []), file]);
    }
  }
  const bundles = [...byRoom].flatMap(([room, all]) => {
    const count = Math.ceil(all.length / MOST_FILES);
    return Array.from({ length: count }, (_, number) => {
      const path = join(directory, `${room}-${number + 1}.mjs`);
      const own = all.filter((_, index) => index % count === number);
      const urls = Object.fromEntries(own.map((file) => [file, pathToFileURL(join(ROOT, file)).href]));
      writeFileSync(path, `import { runFiles } from '${RUN_FILES}';\nrunFiles(${JSON.stringify(urls, null, 2)});\n`);
      return path;
    });
  });
  return [...bundles, ...alone];
}
