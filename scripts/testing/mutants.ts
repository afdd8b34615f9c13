import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ROOT } from '../root.ts';
import { type RunTests, withTestDatabase } from './test-run.ts';

/** A planted fault: a patch below two lines that name the fault and the tests that must fail. */
interface Mutant {
  readonly name: string;
  readonly fault: string;
  /** Test files, and options of `node --test`. */
  readonly tests: readonly string[];
  readonly patch: string;
}

/** Result of one fault; `broken` when it could not be tried. */
interface Outcome {
  readonly kind: 'caught' | 'survived' | 'broken';
  /** The failed test, or the reason why it could not be tried. */
  readonly by: string;
}

const COPIED = [
  'package.json',
  'tsconfig.json',
  'scripts',
  'src',
  'actors',
  'machines',
  'workers',
  'test',
  'lab',
  'docs',
  'ops'
];
/** Limit for one test: a fault that makes a test hang is also caught. */
const TEST_DEADLINE_MS = 60_000;

function readMutant(path: string): Mutant {
  const text = readFileSync(path, 'utf8');
  const [, fault, tests, patch] = /^Fault: (.+)\nTests: (.+)\n\n([\s\S]+)$/.exec(text) ?? [];
  if (!fault || !tests || !patch)
    throw new Error(`${path} must begin with the lines "Fault: ..." and "Tests: ...", then a blank one`);
  return { name: basename(path, '.patch'), fault, tests: tests.split(' '), patch };
}

async function tryMutant(run: RunTests, directory: string, { patch, tests }: Mutant): Promise<Outcome> {
  const apply = (...options: string[]) =>
    spawnSync('patch', ['-p1', '--silent', ...options], { cwd: directory, input: patch });
  if (apply('--dry-run').status !== 0) return { kind: 'broken', by: 'the patch no longer applies' };
  apply();
  const options = ['--test-reporter=spec', `--test-timeout=${TEST_DEADLINE_MS}`];
  const { code, output } = await run([...options, ...tests], { directory, quiet: true });
  apply('--reverse');
  if (code === 0) return { kind: 'survived', by: '' };
  // A file that fails as a whole did not run.
  const failed = [...output.matchAll(/^\s*✖ (.+) \([\d.]+ms\)/gm)].map(([, name]) => name!);
  const noticed = failed.find((name) => !name.endsWith('.ts'));
  return noticed ? { kind: 'caught', by: noticed } : { kind: 'broken', by: `the tests could not run:\n${output}` };
}

/** Plants one fault after another in a copy of the project. @returns 0 when all were caught */
async function runMutants(run: RunTests, wanted: readonly string[]): Promise<number> {
  const mutants = globSync('lab/mutants/*.patch', { cwd: ROOT })
    .sort()
    .map((path) => readMutant(join(ROOT, path)))
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  const unknown = wanted.filter((name) => !mutants.some((mutant) => mutant.name === name));
  if (unknown.length > 0) {
    console.error(
      `no such mutants: ${unknown.join(', ')}\nusage: npm run mutants -- [name of a file of lab/mutants …]`
    );
    return 64;
  }
  const directory = mkdtempSync(join(tmpdir(), 'platform-mutants-'));
  let caught = 0;
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    for (const mutant of mutants) {
      const { kind, by } = await tryMutant(run, directory, mutant);
      if (kind === 'caught') caught += 1;
      const word = kind === 'caught' ? 'caught  ' : kind.toUpperCase().padEnd(8);
      console.log(`${word} ${mutant.name}: ${mutant.fault}${by && `\n         by: ${by}`}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  console.log(`${caught} of ${mutants.length} planted faults caught`);
  return caught === mutants.length ? 0 : 1;
}

process.exitCode = await withTestDatabase((run) => runMutants(run, process.argv.slice(2)));
