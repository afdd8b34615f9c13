import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A planted fault: a patch under a head of two lines, which say what is wrong and which tests must notice. */
interface Mutant {
  readonly name: string;
  readonly fault: string;
  readonly tests: readonly string[];
  readonly patch: string;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const COPIED = ['package.json', 'tsconfig.json', 'scripts', 'src', 'actors', 'machines', 'workers', 'test', 'docs'];
const TEST_DEADLINE_MS = 180_000;

function readMutant(path: string): Mutant {
  const text = readFileSync(path, 'utf8');
  const [, fault, tests, patch] = /^Fault: (.+)\nTests: (.+)\n\n([\s\S]+)$/.exec(text) ?? [];
  if (!fault || !tests || !patch)
    throw new Error(`${path} must begin with the lines "Fault: ..." and "Tests: ...", then a blank one`);
  return { name: basename(path, '.patch'), fault, tests: tests.split(' '), patch };
}

/** @returns whether a test failed, or why it could not be tried */
function isCaught(directory: string, { patch, tests }: Mutant): boolean | string {
  const apply = (...options: string[]) =>
    spawnSync('patch', ['-p1', '--silent', ...options], { cwd: directory, input: patch });
  if (apply('--dry-run').status !== 0) return 'the patch no longer applies';
  apply();
  const run = spawnSync(process.execPath, ['--test', '--test-concurrency=2', ...tests], {
    cwd: directory,
    timeout: TEST_DEADLINE_MS,
    encoding: 'utf8'
  });
  apply('--reverse');
  // A run that ends without one failed test was no run.
  return run.status === 0
    ? false
    : /^ℹ fail [1-9]/m.test(run.stdout) || run.signal !== null || 'the tests could not run';
}

/** Plants one fault after another in a copy of the project. @returns 0 when each was caught */
function runMutants(wanted: readonly string[]): number {
  const mutants = globSync('test/mutants/*.patch', { cwd: ROOT })
    .sort()
    .map((path) => readMutant(join(ROOT, path)))
    .filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  const directory = mkdtempSync(join(tmpdir(), 'platform-mutants-'));
  let failures = 0;
  try {
    for (const name of COPIED) cpSync(join(ROOT, name), join(directory, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
    for (const mutant of mutants) {
      const caught = isCaught(directory, mutant);
      if (caught !== true) failures += 1;
      console.log(
        `${caught === true ? 'caught  ' : caught === false ? 'SURVIVED' : 'BROKEN  '} ${mutant.name}: ${typeof caught === 'string' ? caught : mutant.fault}`
      );
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  console.log(`${mutants.length - failures} of ${mutants.length} planted faults caught`);
  return failures === 0 ? 0 : 1;
}

process.exitCode = runMutants(process.argv.slice(2));
