import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../../', import.meta.url).href;
/** Modules that lead out of the process, or to its clock, with their doubles; some for one file alone. */
const DOUBLES: readonly (readonly [specifier: string, double: string, importer?: string])[] = [
  ['mysql2/promise', './mysql2.ts'],
  ['undici', './undici.ts'],
  ['ws', './ws.ts'],
  ['node:worker_threads', './worker-threads.ts'],
  ['node:timers/promises', './timers-promises.ts'],
  ['node:perf_hooks', './perf-hooks.ts'],
  ['node:zlib', './zlib.ts', 'src/replication/snapshot/snapshot-reader.ts'],
  ['node:fs/promises', './fs-promises.ts', 'src/replication/replica/parts/halt-file.ts'],
  ['node:fs/promises', './fs-promises.ts', 'src/replication/replica/parts/followed-memory.ts'],
  ['node:fs/promises', './fs-promises.ts', 'src/sync/resume-point-store.ts'],
  ['node:fs/promises', './fs-promises.ts', 'src/replication/source/feed/transparency.ts'],
  ['../../src/replication/replica/bootstrap/bootstrap.ts', './bootstrap.ts', 'actors/replica/actor.ts']
];

/** Production code that is imported from now on gets these doubles. */
export function installDoubles(wanted: readonly string[] = DOUBLES.map(([specifier]) => specifier)): void {
  const sources = new Map<string, string>();
  registerHooks({
    resolve(specifier, context, next) {
      const importer = (context.parentURL ?? '').split('?')[0]!.slice(ROOT.length);
      const isOurs = context.parentURL?.startsWith(ROOT) && /^(src|actors|machines)\//.test(importer);
      const double = DOUBLES.find(([from, , only = importer]) => from === specifier && only === importer);
      if (!isOurs || !double || !wanted.includes(specifier)) return next(specifier, context);
      return { url: new URL(double[1], import.meta.url).href, shortCircuit: true };
    },
    // The entry of an actor is evaluated once for each thread, and read once.
    load(url, context, next) {
      const [file, thread] = url.split('?');
      if (thread === undefined || !url.startsWith(ROOT)) return next(url, context);
      const source = sources.get(file!) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(file!), 'utf8'));
      sources.set(file!, source);
      return { format: 'module', source, shortCircuit: true };
    }
  });
}
