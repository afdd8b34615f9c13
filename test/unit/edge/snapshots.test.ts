import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EdgeSnapshots } from '../../../src/edge/snapshots.ts';
import { bytesOf } from '../../../src/edge/stored-object.ts';
import { silentLogger } from '../../../src/log.ts';
import type { Artifact } from '../../../src/replication/snapshot/artifact.ts';
import type { NatsLink } from '../../../src/sync/relay/link.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import type { StoredSnapshot } from '../../../src/wire/data/stored-snapshot.ts';
import { atEnd } from '../../support/cleanup.ts';
import { eventually, temporaryDirectory } from '../../support/sync/sync-process.ts';

const ID: DatabaseId = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' };
const BODY = 'the body of a snapshot';

function storedAt(height: number, facts: Partial<StoredSnapshot> = {}): StoredSnapshot {
  const sha256 = createHash('sha256').update(BODY).digest('hex');
  const etag = `"${String(height).padStart(32, '0')}-gzip"`;
  const place = { bucket: 'SNAPSHOTS', object: `object-${height}` };
  return { coding: 'gzip', height, etag, headers: {}, ...place, sizeBytes: BODY.length, sha256, ...facts };
}

/** An edge's snapshots over a store in which every object has the same body, or one that does not end. */
async function open({ isEndless = false, maxBytes = 2 ** 20, directory = temporaryDirectory('edge-snapshots') } = {}) {
  let fetched = 0;
  const lost = new AbortController();
  const get = async () => {
    fetched += 1;
    const data = isEndless ? new ReadableStream() : ReadableStream.from([Buffer.from(BODY)]);
    return { data, error: Promise.resolve(null) };
  };
  const current = { objects: { open: async () => ({ get }) }, lost: lost.signal };
  const link = { current } as unknown as NatsLink;
  const snapshots = await EdgeSnapshots.open({ link, directory, maxBytes, log: silentLogger });
  atEnd(() => snapshots.close());
  const files = () => readdirSync(directory, { recursive: true }).filter((name) => String(name).endsWith('.gzip'));
  return { snapshots, files, lost, directory, fetched: () => fetched };
}

async function textOf(artifact: Artifact): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of artifact.read(0, null)) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString();
}

test('the newest snapshot up to a block is fetched once, and an older one for a download that is resumed', async () => {
  const { snapshots, fetched } = await open();
  snapshots.list(ID, [storedAt(9), storedAt(5)], snapshots.epoch(ID));
  const first = snapshots.find(ID, 'gzip', 8);
  assert.equal(first?.etag, storedAt(5).etag, 'the stream has not got to block 9 yet');
  assert.equal(snapshots.find(ID, 'gzip', 8), first);
  assert.equal(await textOf(first!), BODY);
  assert.equal(fetched(), 1);
  assert.equal(snapshots.find(ID, 'gzip', 9)?.etag, storedAt(9).etag);
  assert.equal(snapshots.find(ID, 'gzip', 9, storedAt(5).etag), first);
  assert.equal(snapshots.find(ID, 'zstd', 9), null);
});

test('a fork ends the snapshots above it and their files; a list from before the fork brings none back', async () => {
  const { snapshots, files } = await open();
  const before = snapshots.epoch(ID);
  const listed = [storedAt(9), storedAt(5)];
  snapshots.list(ID, listed, before);
  await textOf(snapshots.find(ID, 'gzip', 9)!);
  snapshots.invalidate(ID, 7);
  assert.equal(snapshots.find(ID, 'gzip', 9)?.etag, storedAt(5).etag);
  snapshots.list(ID, listed, before);
  assert.equal(snapshots.find(ID, 'gzip', 9)?.etag, storedAt(5).etag);
  await eventually('its file is gone', async () => files().length === 1);
});

test('STREAM_BODY_DIFFERS: bytes that are not those that its origin stored end no download as if they were', async () => {
  const { snapshots, files } = await open();
  snapshots.list(ID, [storedAt(9, { sha256: '0'.repeat(64) })], snapshots.epoch(ID));
  const artifact = snapshots.find(ID, 'gzip', 9)!;
  await assert.rejects(textOf(artifact), { code: 'STREAM_BODY_DIFFERS' });
  await eventually('nothing of it stays', async () => files().length === 0);
  assert.equal(snapshots.find(ID, 'gzip', 9), null, 'the origin is asked for a minute');
  snapshots.list(ID, [storedAt(9, { etag: '"../../etc/passwd-gzip"' })], snapshots.epoch(ID));
  assert.equal(snapshots.find(ID, 'gzip', 9), null);
});

test('files take no more bytes than they may: those that nobody reads give way, and what has no room is left to the origin', async () => {
  const { snapshots, files, fetched } = await open({ maxBytes: 2 * BODY.length });
  snapshots.list(ID, [storedAt(9), storedAt(5), storedAt(3)], snapshots.epoch(ID));
  const find = (height: number) => snapshots.find(ID, 'gzip', height);
  for (const height of [9, 5, 9]) await textOf(find(height)!);
  const third = find(3)!;
  const reading = third.read(0, null);
  await reading.next();
  await eventually('the one that was not used for longest is gone', async () => files().length === 2);
  assert.equal(snapshots.bytes, 2 * BODY.length);
  assert.deepEqual([find(9)?.etag, fetched()], [storedAt(9).etag, 3], 'the other one is there');
  const first = find(9)!.read(0, null);
  await first.next();
  assert.equal(find(5), null, 'both are read');
  await first.return(undefined);
  await textOf(find(5)!);
  assert.equal(await textOf(find(5)!), BODY);
  await reading.return(undefined);
});

test('files that a killed edge left are removed at the next start, and nothing of an edge that lives', async () => {
  const { snapshots, files, directory } = await open();
  snapshots.list(ID, [storedAt(9)], snapshots.epoch(ID));
  await textOf(snapshots.find(ID, 'gzip', 9)!);
  const left = join(directory, 'platform-edge-killed');
  mkdirSync(left);
  for (const name of ['lock', 'kept.gzip']) writeFileSync(join(left, name), '');
  mkdirSync(join(directory, 'another'));
  const long = new Date(Date.now() - 3_600_000);
  for (const name of readdirSync(directory)) utimesSync(join(directory, name), long, long);
  await open({ directory });
  assert.ok(!existsSync(left));
  assert.ok(existsSync(join(directory, 'another')));
  assert.equal(files().length, 1);
  assert.equal(await textOf(snapshots.find(ID, 'gzip', 9)!), BODY);
});

test('a snapshot whose bytes stop coming is given up with the connection, and keeps nobody from closing', async () => {
  const { snapshots, lost, files } = await open({ isEndless: true });
  snapshots.list(ID, [storedAt(9)], snapshots.epoch(ID));
  const reading = textOf(snapshots.find(ID, 'gzip', 9)!);
  lost.abort();
  await assert.rejects(reading, { code: 'SNAPSHOT_FAILED' });
  await eventually('its file is gone', async () => files().length === 0);
  await snapshots.close();

  const other = await open({ isEndless: true });
  other.snapshots.list(ID, [storedAt(9)], other.snapshots.epoch(ID));
  const unread = textOf(other.snapshots.find(ID, 'gzip', 9)!).catch((caught: unknown) => caught);
  await other.snapshots.close();
  assert.ok((await unread) instanceof Error);
});

test('bytes of an object that come too late are given up', async () => {
  const error = Promise.resolve(null);
  const bytes = bytesOf({ data: new ReadableStream(), error }, new AbortController().signal, 20);
  await assert.rejects(bytes.next(), /no bytes came for 20 ms/);
});
