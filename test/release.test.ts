import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { transformSync } from 'esbuild';
import { findRefusals, releaseChangelog, releaseSteps, setVersion } from '../scripts/build/release.ts';

const CLEAN = { changes: [], tags: ['v0.1.0'], current: '0.1.0' } as const;

test('a release is refused in a tree with changes, under a tag that exists, and below the current version', () => {
  assert.deepEqual(findRefusals('0.2.0', CLEAN), []);
  assert.deepEqual(findRefusals('0.1.0', { ...CLEAN, tags: [] }), []);
  assert.match(findRefusals('0.2.0', { ...CLEAN, changes: [' M a.ts'] }).join(), /not committed:\n {2} M a\.ts/);
  assert.match(findRefusals('0.1.0', CLEAN).join(), /the tag v0\.1\.0 exists/);
  assert.match(findRefusals('0.2.9', { ...CLEAN, current: '0.10.0' }).join(), /below the current version, 0\.10\.0/);
  for (const wrong of ['1.2', 'v1.2.3', '1.2.3-rc.1', '01.2.3', '1.2.3\n'])
    assert.match(findRefusals(wrong, CLEAN).join(), /no version of the form X\.Y\.Z/, wrong);
});

test('a release moves the unreleased entries of the changelog under its version and date, and nothing else', () => {
  const text = '# Changelog\n\n## [Unreleased]\n\n### Fixed\n- One.\n\n## [0.1.0] - 2025-01-01\n- Zero.\n';
  assert.equal(
    releaseChangelog(text, '0.2.0', '2026-02-03'),
    '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Fixed\n- One.\n\n## [0.1.0] - 2025-01-01\n- Zero.\n'
  );
  assert.throws(() => releaseChangelog(text, '0.1.0', '2026-02-03'), /already has a section 0\.1\.0/);
  assert.throws(() => releaseChangelog(text.replace('- One.\n', ''), '0.2.0', '2026-02-03'), /no entry/);
  assert.throws(() => releaseChangelog('# Changelog\n', '0.2.0', '2026-02-03'), /one section/);
  // Right after a release the section is empty, so the real changelog gets an entry here.
  const real = readFileSync('CHANGELOG.md', 'utf8').replace('## [Unreleased]\n', '## [Unreleased]\n\n- One.\n');
  const released = releaseChangelog(real, '99.0.0', '2026-02-03');
  assert.equal(released.replace('## [99.0.0] - 2026-02-03\n\n', ''), real);
});

test('a release changes the version of manifest and lockfile, and no other byte', () => {
  for (const path of ['package.json', 'package-lock.json']) {
    const text = readFileSync(path, 'utf8');
    const { version } = JSON.parse(text) as { version: string };
    assert.equal(setVersion(text, version), text, path);
    const changed = setVersion(text, '99.98.97');
    assert.equal(changed.replaceAll('"99.98.97"', `"${version}"`), text, path);
    assert.equal(changed.split('"99.98.97"').length - 1, path === 'package.json' ? 1 : 2, path);
  }
  assert.throws(() => setVersion('{}', '1.0.0'), /has no version/);
});

test('a release commits, builds from that commit, and tags what was built; it never pushes', () => {
  const commands = releaseSteps('1.2.3').map((step) => step.join(' '));
  const order = [
    /^git add /,
    /^git commit .*chore: release 1\.2\.3$/,
    /^npm run build:binary$/,
    /^npm run client$/,
    /^git tag --annotate v1\.2\.3 /
  ];
  assert.equal(commands.length, order.length);
  for (const [index, wanted] of order.entries()) assert.match(commands[index]!, wanted);
  assert.ok(commands.every((command) => !command.includes('push')));
});

/** Returns whether a source is ASCII once it is bundled: letters of tagged templates are not escaped. */
function staysAscii(source: string): boolean {
  const { code } = transformSync(source, { loader: 'ts', minifyWhitespace: true });
  return !/[^\0-\x7f]/.test(code);
}

test('the program is ASCII once it is bundled: V8 would hold it in two bytes per character', () => {
  assert.ok(staysAscii('const text = `–`;'));
  assert.ok(!staysAscii('const text = html`–`;'));
  const paths = globSync('{src,actors,machines,workers}/**/*.ts');
  assert.ok(paths.length > 500, `${paths.length} files`);
  assert.deepEqual(
    paths.filter((path) => !staysAscii(readFileSync(path, 'utf8'))),
    []
  );
});
