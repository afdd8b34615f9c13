import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLogger } from '../../../src/log.ts';
import type { ResumePoint, ResumeStep } from '../../../src/replication/source/reading/resume-point.ts';
import { ResumePointStore } from '../../../src/sync/resume-point-store.ts';

const ID = { dbType: 'indexer', chain: 'litecoin', network: 'regtest' } as const;
const pointAt = (height: number): ResumePoint => ({
  height,
  blockTime: 1,
  hashes: { ledger_hash: 'l', actions_hash: 'a', contract_hash: null },
  recent: [],
  openGroup: null,
  lookupIds: {},
  watches: {}
});

const stepTo = (height: number): ResumeStep => ({
  height,
  blockTime: 1,
  hashes: { ledger_hash: `l${height}`, actions_hash: 'a', contract_hash: null },
  openGroup: null,
  lookupIds: { index_addresses: height },
  added: [{ height, hashes: { ledger_hash: `l${height}`, actions_hash: 'a', contract_hash: null } }],
  watches: { [`table_${height % 3}`]: { from: null, lastId: height, shift: 6, sums: {}, pending: [] } }
});

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'platform-test-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return join(path, 'broadcasts');
}

test('the last point of each database survives, however fast they come', async (t) => {
  const path = directory(t);
  const log = await ResumePointStore.open(path, silentLogger);
  assert.equal(log.last(ID), null);
  for (let height = 1; height <= 500; height += 1) void log.keep(ID, pointAt(height));
  void log.keep({ ...ID, dbType: 'decoder' }, pointAt(7));
  assert.equal(log.last(ID)?.height, 500);
  await log.close();
  const next = await ResumePointStore.open(path, silentLogger);
  assert.deepEqual(next.last(ID), pointAt(500));
  assert.equal(next.last({ ...ID, dbType: 'decoder' })?.height, 7);
  for (const name of readdirSync(path)) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600);
});

test('a point is on disk when keeping it returns: who is killed then broadcasts nothing twice', async (t) => {
  const path = directory(t);
  const log = await ResumePointStore.open(path, silentLogger);
  for (const height of [1, 2]) {
    await log.keep(ID, pointAt(height));
    assert.equal((await ResumePointStore.open(path, silentLogger)).last(ID)?.height, height);
  }
  await log.close();
});

test('a damaged file costs one database its point, not the start', async (t) => {
  const path = directory(t);
  const log = await ResumePointStore.open(path, silentLogger);
  await log.keep(ID, pointAt(3));
  await log.close();
  writeFileSync(join(path, 'broken.json'), '{"id":');
  writeFileSync(join(path, 'half.json.new'), '{"id":');
  assert.equal((await ResumePointStore.open(path, silentLogger)).last(ID)?.height, 3);
});

test('steps are lines of the file; it is read as the point that they lead to, in whatever order they were written', async (t) => {
  const path = directory(t);
  const log = await ResumePointStore.open(path, silentLogger);
  await log.keep(ID, pointAt(0));
  await log.keep(ID, stepTo(1));
  for (let height = 2; height <= 1_200; height += 1) void log.keep(ID, stepTo(height));
  await log.close();
  const next = await ResumePointStore.open(path, silentLogger);
  assert.deepEqual(next.last(ID), log.last(ID));
  const { height, recent, watches, lookupIds } = next.last(ID)!;
  assert.deepEqual([height, recent.length, recent[0]!.height, recent.at(-1)!.height], [1_200, 1_000, 201, 1_200]);
  assert.deepEqual(
    [
      Object.values(watches)
        .map(({ lastId }) => lastId)
        .sort(),
      lookupIds['index_addresses']
    ],
    [[1_198, 1_199, 1_200], 1_200]
  );
  const file = join(path, readdirSync(path)[0]!);
  assert.equal(readFileSync(file, 'utf8').trimEnd().split('\n').length, 1_201);
  await log.keep(ID, pointAt(1_201));
  assert.equal(readFileSync(file, 'utf8').trimEnd().split('\n').length, 1);
});

test('a step that was cut while it was written was not broadcast; a damaged line before it makes the file unreadable', async (t) => {
  const path = directory(t);
  const log = await ResumePointStore.open(path, silentLogger);
  await log.keep(ID, pointAt(0));
  await log.keep(ID, stepTo(1));
  const file = join(path, readdirSync(path)[0]!);
  appendFileSync(file, JSON.stringify(stepTo(2)).slice(0, 90));
  assert.equal((await ResumePointStore.open(path, silentLogger)).last(ID)?.height, 1);
  appendFileSync(file, '\n');
  assert.equal((await ResumePointStore.open(path, silentLogger)).last(ID), null);
});

test('a file that is gone or cannot be added to is written whole', async (t) => {
  const path = directory(t);
  const log = await ResumePointStore.open(path, silentLogger);
  await log.keep(ID, pointAt(0));
  await log.keep(ID, stepTo(1));
  rmSync(join(path, readdirSync(path)[0]!));
  await log.keep(ID, stepTo(2));
  assert.deepEqual((await ResumePointStore.open(path, silentLogger)).last(ID), log.last(ID));
  assert.equal(log.last(ID)?.height, 2);
});
