import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MIN_BLOCKS } from '../../src/devnet/once.ts';

const COMMAND_LINE = fileURLToPath(new URL('../../scripts/platform-node', import.meta.url));
const RUN_DEADLINE_MS = 420_000;

test('devnet --hubs 4 --once: the leader is killed between writes, and the databases of all four are the same at the end', async () => {
  const options = ['devnet', '--once', '--hubs', '4', '--blocks', String(MIN_BLOCKS), '--seed', 'hubs'];
  const child = spawn(COMMAND_LINE, options, { stdio: ['ignore', 'pipe', 'pipe'] });
  const late = setTimeout(() => child.kill('SIGTERM'), RUN_DEADLINE_MS);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  const [code] = await once(child, 'close');
  clearTimeout(late);
  const lastLines = stderr.split('\n').slice(-20).join('\n');
  assert.equal(code, 0, lastLines);
  const { equal, hubs } = JSON.parse(stdout.trim().split('\n').at(-1)!);
  assert.ok(equal, stdout);
  assert.deepEqual([hubs.members, hubs.equal], [4, true]);
  // Ten before the kill, ten without the leader, and ten when it is back.
  assert.ok(hubs.writes >= 30, `${hubs.writes} writes`);
  assert.match(stderr, /killing the leader of the hubs, hub(?:-\d)?, after \d+ writes/);
});
