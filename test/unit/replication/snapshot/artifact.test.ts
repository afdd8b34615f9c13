import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../../../../src/errors.ts';
import { Artifact } from '../../../../src/replication/snapshot/artifact.ts';
import { Reader } from '../../../../src/replication/snapshot/reader.ts';
import { temporaryDirectory } from '../../../support/sync/sync-process.ts';

function begin(): Artifact {
  const path = join(temporaryDirectory('artifact'), 'file');
  writeFileSync(path, '');
  return new Artifact({ buildId: 'b', coding: 'gzip', path, resource: 'r', key: 'k' });
}

/** Copies what it reads, as a socket does, some time after it was handed it. */
async function copy(artifact: Artifact, start: number, end: number | null, pauseMs: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const block of artifact.read(start, end)) {
    if (pauseMs > 0) await sleep(pauseMs);
    parts.push(Buffer.from(block));
  }
  return Buffer.concat(parts);
}

test('readers at every pace and place get the bytes of the file, while it grows and after', async () => {
  const artifact = begin();
  const whole = randomBytes(6_000_000);
  const ranges: readonly [number, number | null][] = [
    ...Array.from({ length: 12 }, () => [0, null] as [number, null]),
    [1, null],
    [5, 5],
    [100_000, 2_000_000],
    [262_143, 262_144]
  ];
  const readers = ranges.map(([start, end], n) => copy(artifact, start, end, n % 5));
  const leaver = (async () => {
    for await (const _block of artifact.read(0, null)) return;
  })();
  for (let at = 0; at < whole.length; at += 170_000) {
    appendFileSync(artifact.path, whole.subarray(at, at + 170_000));
    artifact.grew(Math.min(whole.length, at + 170_000));
    await sleep(1);
  }
  artifact.finish(whole.length);
  for (const [n, [start, end]] of ranges.entries())
    assert.ok(
      (await readers[n]!).equals(whole.subarray(start, end === null ? undefined : end + 1)),
      `${start} to ${end}`
    );
  await leaver;
  assert.equal(artifact.inUse, false);
  await artifact.whenIdle();
  assert.ok((await copy(artifact, 0, null, 0)).equals(whole));
});

test('the next reader of a small file finds its blocks in memory, until those of another file take their place', async () => {
  const finished = (bytes: Buffer) => {
    const artifact = begin();
    writeFileSync(artifact.path, bytes);
    artifact.finish(bytes.length);
    return artifact;
  };
  const [small, large] = [randomBytes(1_000_000), randomBytes(5_000_000)];
  const artifact = finished(small);
  assert.ok((await copy(artifact, 0, null, 0)).equals(small));
  rmSync(artifact.path);
  assert.ok((await copy(artifact, 0, null, 0)).equals(small), 'the file is not there any more');
  assert.ok((await copy(finished(large), 0, null, 0)).equals(large));
  await assert.rejects(copy(artifact, 0, null, 0), { code: 'ENOENT' });
  assert.equal(artifact.inUse, false);
});

test('SNAPSHOT_FAILED: readers of a build that fails are told, and so is one of a file that is shorter than told', async () => {
  const failing = begin();
  appendFileSync(failing.path, 'abc');
  failing.grew(3);
  const reader = copy(failing, 0, null, 0);
  await sleep(5);
  failing.fail(new PlatformError('SNAPSHOT_FAILED', {}));
  await assert.rejects(reader, { code: 'SNAPSHOT_FAILED' });
  const short = begin();
  short.finish(10);
  await assert.rejects(copy(short, 0, null, 0), { code: 'SNAPSHOT_FAILED' });
  assert.equal(short.inUse, false);
});

test('a reader is slow that takes nothing of a complete artifact for 5 s, however much it took before', async () => {
  const artifact = begin();
  const [reader, waiting] = [new Reader('a', () => undefined), new Reader('b', () => undefined)];
  for (const each of [reader, waiting]) each.enter(artifact);
  for (let block = 0; block < 40; block++) reader.tookBlock();
  await sleep(2_600);
  artifact.finish(0);
  await sleep(2_600);
  assert.deepEqual([reader.isSlow, waiting.isSlow], [false, false], 'while it grew, there was nothing to take');
  waiting.tookBlock();
  await sleep(2_600);
  assert.deepEqual([reader.isSlow, waiting.isSlow], [true, false]);
});
