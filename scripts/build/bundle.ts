import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { ROOT } from '../root.ts';

/** Options of every bundle of this program. */
export const BUNDLE = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node26',
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Native, and needed only for a setting of Piscina that is not used.
  external: ['@napi-rs/nice']
} as const satisfies BuildOptions;

/** Code in front of an ES module that contains CommonJS. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Directory below the entries for V8's bytecode, which the next threads start from. */
const CACHE = 'compile-cache';

/**
 * Virtual modules of the entries, by their names below the root. Each turns on V8's compile cache and then loads the
 * module of that name.
 *
 * The first thread writes the bytecode, and all others read it, even those of later processes. When nothing can be
 * written, each thread compiles.
 */
const cachedStart: Plugin = {
  name: 'cached-start',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^start:/ }, ({ path }) => ({ path: path.slice('start:'.length), namespace: 'start' }));
    onLoad({ filter: /.*/, namespace: 'start' }, ({ path }) => ({
      resolveDir: ROOT,
      contents: `
        import { enableCompileCache, flushCompileCache } from 'node:module';
        import { fileURLToPath } from 'node:url';
        enableCompileCache(fileURLToPath(new URL('${'../'.repeat(path.split('/').length - 1)}${CACHE}', import.meta.url)));
        const entry = await import('./${path}');
        flushCompileCache();
        export default entry.default;`
    }));
  }
};

/** Plugin that makes an entry of the file from which Piscina starts its threads. */
export const piscinaWorker: Plugin = {
  name: 'piscina-worker',
  setup({ onLoad }) {
    onLoad({ filter: /\/piscina\/dist\/index\.js$/ }, ({ path }) => {
      const parts = readFileSync(path, 'utf8').split("(0, node_path_1.resolve)(__dirname, 'worker.js')");
      if (parts.length !== 2) throw new Error(`${path} starts its threads in another way than expected`);
      const program = JSON.stringify(join(ROOT, 'src/process/program.ts'));
      const worker = `require('node:url').fileURLToPath(require(${program}).entryUrl('piscina-worker'))`;
      return { contents: parts.join(worker) };
    });
  }
};

/**
 * Plugin that replaces the index of `undici` by the parts that this program uses. The index loads twice as much: a
 * browser's fetch, caches, mocks.
 */
export const smallUndici: Plugin = {
  name: 'small-undici',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'small' }));
    onLoad({ filter: /.*/, namespace: 'small' }, () => ({
      resolveDir: ROOT,
      contents: `
        const Dispatcher = require('undici/lib/dispatcher/dispatcher');
        Object.assign(Dispatcher.prototype, require('undici/lib/api'));
        exports.Agent = require('undici/lib/dispatcher/agent');
        exports.Pool = require('undici/lib/dispatcher/pool');`
    }));
  }
};

/** Writes the micro sign of a regular expression, which is not escaped as letters of texts are, by its number. */
export const asciiNats: Plugin = {
  name: 'ascii-nats',
  setup({ onLoad }) {
    onLoad({ filter: /@nats-io\/jetstream\/lib\/jsclient\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('\u00b5', '\\u00b5')
    }));
  }
};

/** Result of bundling the entries. */
interface EntryBundle {
  /** Source files that went into the bundles, by their paths below the root. */
  readonly sources: readonly string[];
  /** Imports of each produced file, by its path in the directory. */
  readonly loads: Readonly<Record<string, readonly string[]>>;
}

/** Bundles everything that threads start from. */
export async function bundleEntries(outdir: string, options: BuildOptions = {}): Promise<EntryBundle> {
  const actors = globSync('actors/*/actor.ts', { cwd: ROOT }).filter((path) =>
    readFileSync(join(ROOT, path), 'utf8').includes(' hostActor<')
  );
  const files = [...actors, 'actors/runtime/task-entry.ts', ...globSync('workers/*/*.ts', { cwd: ROOT })].sort();
  const entryPoints = Object.fromEntries(files.map((path) => [path.replace(/\.ts$/, ''), `start:${path}`]));
  const { metafile } = await build({
    ...BUNDLE,
    ...options,
    entryPoints: { ...entryPoints, 'piscina-worker': 'node_modules/piscina/dist/worker.js' },
    outdir,
    banner: { js: REQUIRE },
    splitting: true,
    outExtension: { '.js': '.mjs' },
    plugins: [cachedStart, smallUndici, piscinaWorker],
    metafile: true
  });
  const sources = Object.keys(metafile.inputs)
    .filter((path) => !path.includes(':') && !path.startsWith('node_modules/'))
    .map((path) => relative(ROOT, join(ROOT, path)))
    .sort();
  const inDirectory = (path: string) => relative(outdir, join(ROOT, path));
  const loads = Object.entries(metafile.outputs)
    .filter(([path]) => path.endsWith('.mjs'))
    .map(([path, { imports }]) => [
      inDirectory(path),
      imports.filter(({ external }) => !external).map((imported) => inDirectory(imported.path))
    ]);
  return { sources, loads: Object.fromEntries(loads) };
}
