import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import manifest from '../../package.json' with { type: 'json' };
import type { Entry } from '../../src/process/entry-directory.ts';
import { ROOT } from '../root.ts';
import { asciiNats, BUNDLE, bundleEntries, piscinaWorker, smallUndici } from './bundle.ts';
import { collectLicences } from './licences.ts';

/** A library that Node needs in addition to libc and libstdc++, and that a machine without a compiler may lack. */
const LIBRARY = 'libatomic.so.1';
const COPYRIGHT_OF_LIBRARY = '/usr/share/doc/libatomic1/copyright';
/** File of licences. It stands beside the one file and inside it. */
const LICENCES = 'platform-node.licences.txt';
const NODE = realpathSync(process.execPath);

/**
 * Builds the one file: the pinned Node, stripped, with the program and everything that it reads from disk.
 *
 * Beside it go the library that it needs, the licences of all parts, and the list of parts (CycloneDX).
 */
async function buildBinary(out: string): Promise<void> {
  if (process.platform !== 'linux') throw new Error(`the one file is built on Linux, not on ${process.platform}`);
  const work = mkdtempSync(join(tmpdir(), 'platform-build-'));
  try {
    mkdirSync(out, { recursive: true });
    const binary = join(out, 'platform-node');
    const main = join(work, 'main.cjs');
    await bundleProgram(main);
    const about = join(work, 'build.json');
    writeJson(about, describeBuild());
    const licences = join(out, LICENCES);
    writeFileSync(licences, collectLicences({ [LIBRARY]: readFileSync(COPYRIGHT_OF_LIBRARY, 'utf8') }));
    const packed = join(work, 'licences.txt.gz');
    writeFileSync(packed, gzipSync(readFileSync(licences), { level: 9 }));
    const assets = {
      'build.json': about,
      'licences.txt.gz': packed,
      ...(await entryAssets(join(work, 'entries'))),
      ...(await webAssets())
    };
    run('strip', '-o', join(work, 'node'), NODE);
    writeJson(join(work, 'sea.json'), {
      main,
      useCodeCache: true,
      executable: join(work, 'node'),
      output: binary,
      disableExperimentalSEAWarning: true,
      execArgv: ['--disable-warning=ExperimentalWarning'],
      assets
    });
    rmSync(binary, { force: true });
    run(NODE, '--build-sea', join(work, 'sea.json'));
    // After --build-sea: what that adds would overwrite what patchelf moves.
    run('patchelf', '--set-rpath', '$ORIGIN', binary);
    copyFileSync(libraryPath(), join(out, LIBRARY));
    writeJson(join(out, 'platform-node.cdx.json'), describeParts(out));
    console.error(`${relative(ROOT, binary)}: ${(statSync(binary).size / 1e6).toFixed(1)} MB`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Bundles the main thread's program as CommonJS, for which `--build-sea` can store V8's bytecode. */
async function bundleProgram(outfile: string): Promise<void> {
  await build({
    ...BUNDLE,
    minifyWhitespace: true,
    entryPoints: ['src/main.ts'],
    outfile,
    format: 'cjs',
    supported: { 'dynamic-import': false },
    // Read in the source only.
    define: { 'import.meta.url': "''" },
    plugins: [smallUndici, asciiNats, piscinaWorker]
  });
  // Letters in tagged templates are not escaped.
  const isAscii = readFileSync(outfile).every((byte) => byte < 0x80);
  if (!isAscii) throw new Error('the program is not ASCII: V8 would hold all of it in two bytes per character');
}

/**
 * Bundles everything that threads start from. @returns the assets: each file, and the list of all files with their
 * imports
 */
async function entryAssets(outdir: string): Promise<Record<string, string>> {
  const { loads } = await bundleEntries(outdir, { minifyWhitespace: true });
  const entries = Object.entries(loads).map(([name, loaded]): [string, Entry] => [
    name,
    { sha256: sha256(join(outdir, name)), loads: loaded }
  ]);
  const list = `${outdir}.json`;
  writeJson(list, Object.fromEntries(entries));
  return {
    'entries.json': list,
    ...Object.fromEntries(entries.map(([name]) => [`entries/${name}`, join(outdir, name)]))
  };
}

async function webAssets(): Promise<Record<string, string>> {
  const directory = join(ROOT, 'dist/web');
  if (!existsSync(join(directory, 'index.html'))) await import('./web.ts');
  const names = globSync('**/*.*', { cwd: directory }).sort();
  return Object.fromEntries(names.map((name) => [`web/${name}`, join(directory, name)]));
}

/**
 * Returns commit and date: from PLATFORM_COMMIT and PLATFORM_DATE when the source comes without its history, else from
 * git.
 */
function describeBuild(): { readonly commit: string; readonly date: string } {
  const { PLATFORM_COMMIT: commit, PLATFORM_DATE: date } = process.env;
  if (commit && date) return { commit, date };
  try {
    const [hash = '', day = ''] = run('git', 'show', '-s', '--format=%h %cs').trim().split(' ');
    const changed = run('git', 'status', '--porcelain').trim() !== '';
    return { commit: hash + (changed ? ' with changes' : ''), date: day };
  } catch {
    return { commit: 'unknown', date: 'no date' };
  }
}

function libraryPath(): string {
  const path = new RegExp(`${LIBRARY} => (\\S+)`).exec(run('ldd', NODE))?.[1];
  if (!path) throw new Error(`${LIBRARY} is missing; as root: apt-get install -y libatomic1`);
  return path;
}

/** Returns the list of parts: npm's list of packages that are not for development only, including Node, and the library. */
function describeParts(out: string): object {
  const bill = JSON.parse(run('npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev'));
  bill.metadata.component.hashes = [{ alg: 'SHA-256', content: sha256(join(out, 'platform-node')) }];
  const [, version = '1'] = /\.so\.([\d.]+)$/.exec(basename(realpathSync(libraryPath()))) ?? [];
  const hashes = [{ alg: 'SHA-256', content: sha256(join(out, LIBRARY)) }];
  bill.components.push({ 'bom-ref': LIBRARY, type: 'library', name: 'libatomic', version, hashes });
  return bill;
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

function writeJson(path: string, value: unknown): void {
  writeFileSync(path, JSON.stringify(value, null, 2));
}

function run(command: string, ...args: readonly string[]): string {
  try {
    return execFileSync(command, args, {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64e6,
      stdio: ['ignore', 'pipe', 'pipe']
    });
  } catch (caught) {
    const { code, stderr } = caught as NodeJS.ErrnoException & { stderr?: string };
    const why = code === 'ENOENT' ? `${command} is missing; run: npm run setup -- --with-build-tools` : stderr;
    throw new Error(`${[command, ...args].join(' ')} failed: ${why?.slice(0, 2_000)}`);
  }
}

const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } });
await buildBinary(values.out);
console.error(`platform-node ${manifest.version} is in ${values.out}`);
