import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../root.ts';

const USAGE = 'usage: npm run release -- X.Y.Z [--dry-run]';
/** Exit codes of sysexits(3). */
const EXIT_USAGE = 64;
const EXIT_REFUSED = 65;
const CHANGED = ['CHANGELOG.md', 'package.json', 'package-lock.json'];

/** State of the repository before a release. */
interface RepositoryState {
  /** Lines of `git status --porcelain`; none in a clean tree. */
  readonly changes: readonly string[];
  readonly tags: readonly string[];
  /** Version of package.json. */
  readonly current: string;
}

const numbersOf = (version: string): number[] | null =>
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(version) ? version.split('.').map(Number) : null;

/**
 * Returns the reasons why this version cannot be released now, one sentence each. The current version may be released
 * once.
 */
export function findRefusals(version: string, { changes, tags, current }: RepositoryState): string[] {
  const [wanted, now] = [numbersOf(version), numbersOf(current)];
  const refusals: string[] = [];
  if (!wanted) refusals.push(`${version} is no version of the form X.Y.Z`);
  else if (now && isBelow(wanted, now)) refusals.push(`${version} is below the current version, ${current}`);
  if (tags.includes(`v${version}`)) refusals.push(`the tag v${version} exists`);
  if (changes.length > 0) refusals.push(`the tree has changes that are not committed:\n  ${changes.join('\n  ')}`);
  return refusals;
}

function isBelow(left: readonly number[], right: readonly number[]): boolean {
  const index = left.findIndex((number, at) => number !== right[at]);
  return index >= 0 && left[index]! < right[index]!;
}

/**
 * Moves the entries of `[Unreleased]` under a heading of the version, and leaves `[Unreleased]` empty above it.
 *
 * @param date  as YYYY-MM-DD
 * @throws {Error} without that section, without entries in it, or when the version has a section
 */
export function releaseChangelog(text: string, version: string, date: string): string {
  if (text.includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md already has a section ${version}`);
  const [before, after, ...more] = text.split(/^## \[Unreleased\]\n/m);
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error('CHANGELOG.md must have one section ## [Unreleased]');
  const entries = after.split(/^## /m)[0]!;
  if (!/^- /m.test(entries)) throw new Error('CHANGELOG.md has no entry under ## [Unreleased]');
  return `${before}## [Unreleased]\n\n## [${version}] - ${date}\n${after}`;
}

/**
 * Sets the version of package.json or package-lock.json; nothing else changes.
 *
 * @throws {Error} when it has none
 */
export function setVersion(text: string, version: string): string {
  const manifest = JSON.parse(text) as { version?: string; packages?: Record<string, { version?: string }> };
  if (manifest.version === undefined) throw new Error('package.json has no version');
  manifest.version = version;
  const root = manifest.packages?.[''];
  if (root) root.version = version;
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Returns the steps of a release in order. It builds after the commit, because the program contains its commit. */
export function releaseSteps(version: string): readonly (readonly [program: string, ...args: string[]])[] {
  return [
    ['git', 'add', '--', ...CHANGED],
    ['git', 'commit', '--quiet', '-m', `chore: release ${version}`],
    ['npm', 'run', 'build:binary'],
    ['npm', 'run', 'client'],
    ['git', 'tag', '--annotate', `v${version}`, '-m', `platform-node ${version}`]
  ];
}

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { cwd: ROOT, encoding: 'utf8' });
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/**
 * Releases a version. @returns the exit code: 0 when released, 64 for wrong arguments, 65 when the release is refused
 */
function release(version: string, isDryRun: boolean): number {
  const refusals = findRefusals(version, {
    changes: linesOf(run('git', 'status', '--porcelain')),
    tags: linesOf(run('git', 'tag', '--list')),
    current: (JSON.parse(read('package.json')) as { version: string }).version
  });
  for (const refusal of refusals) console.error(`release: ${refusal}`);
  if (refusals.length > 0) return EXIT_REFUSED;
  const date = new Date().toISOString().slice(0, 10);
  const texts = CHANGED.map((path) => {
    const text = read(path);
    return [path, path.endsWith('.json') ? setVersion(text, version) : releaseChangelog(text, version, date)] as const;
  });
  const steps = releaseSteps(version);
  if (isDryRun) {
    for (const [path] of texts) console.log(`would write ${path}: ${version}, ${date}`);
    for (const step of steps) console.log(`would run ${step.join(' ')}`);
    return 0;
  }
  for (const [path, text] of texts) writeFileSync(join(ROOT, path), text);
  try {
    for (const [program, ...args] of steps) execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
  } catch (caught) {
    console.error(
      `release: ${(caught as Error).message}\nrelease: v${version} is not tagged. Undo the commit with git reset --hard HEAD~1, or the written files with git checkout HEAD -- ${CHANGED.join(' ')}`
    );
    return 1;
  }
  console.error(`release: ${version} is committed and tagged here; to publish: git push --follow-tags`);
  return 0;
}

if (import.meta.main) {
  const options = { 'dry-run': { type: 'boolean', default: false } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [version] = positionals;
  if (version === undefined || positionals.length > 1) console.error(USAGE);
  process.exitCode = version === undefined || positionals.length > 1 ? EXIT_USAGE : release(version, values['dry-run']);
}
