import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger } from '../../../src/log.ts';
import type { ResumePoint } from '../../../src/replication/source/reading/resume-point.ts';
import { ResumePointStore } from '../../../src/sync/resume-point-store.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { atEnd } from '../../support/cleanup.ts';

const ID: DatabaseId = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' };
const point = (height: number): ResumePoint => ({
  height,
  blockTime: 1,
  hashes: { block_hash: 'aa' },
  recent: [],
  openGroup: null,
  algorithm: 3,
  reorgs: 0,
  forks: [],
  lookupIds: {},
  watches: {}
});

test('STATE_UNWRITABLE: what follows a point that could not be kept is not kept either, though there is room by then', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'resume-'));
  atEnd(async () => rmSync(parent, { recursive: true, force: true }));
  const directory = join(parent, 'broadcasts');
  const store = await ResumePointStore.open(directory, silentLogger);
  await store.keep(ID, point(1));
  renameSync(directory, `${directory}.away`);
  writeFileSync(directory, 'no directory');
  const second = store.keep(ID, point(2));
  const third = store.keep(ID, point(3));
  const hasRoom = second.catch(() => {
    rmSync(directory);
    renameSync(`${directory}.away`, directory);
  });
  await assert.rejects(third, { code: 'STATE_UNWRITABLE' });
  await assert.rejects(second, { code: 'STATE_UNWRITABLE' });
  await hasRoom;
  assert.equal(store.last(ID)?.height, 1);
  await store.keep(ID, point(2));
  assert.equal(store.last(ID)?.height, 2);
});

test('STATE_UNWRITABLE: a resume point that could not be written is not taken for kept, and can be kept later', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'resume-'));
  atEnd(async () => rmSync(parent, { recursive: true, force: true }));
  const directory = join(parent, 'broadcasts');
  const store = await ResumePointStore.open(directory, silentLogger);
  await assert.doesNotReject(store.keep(ID, point(1)));
  renameSync(directory, `${directory}.away`);
  writeFileSync(directory, 'no directory');
  await assert.rejects(store.keep(ID, point(2)), { code: 'STATE_UNWRITABLE' });
  assert.equal(store.last(ID)?.height, 1);
  const other: DatabaseId = { ...ID, chain: 'bitcoin' };
  await assert.rejects(store.keep(other, point(7)), { code: 'STATE_UNWRITABLE' });
  assert.equal(store.last(other), null);
  rmSync(directory);
  renameSync(`${directory}.away`, directory);
  await store.keep(ID, point(2));
  await store.close();
  const again = await ResumePointStore.open(directory, silentLogger);
  assert.deepEqual([again.last(ID)?.height, again.last(other)], [2, null]);
});
