import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ResumePointStore } from '../../../../actors/source/resume-point-store.ts';
import type { ResumePoint } from '../../../../src/db/source/resume-point.ts';
import { silentLogger } from '../../../../src/log.ts';

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
