import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareDatabases } from '../../src/verify/compare.ts';
import { createDatabase } from '../support/mariadb.ts';
import { appendBlocks, createDecoder } from '../support/sync/generated-decoder.ts';
import { startLyingSource } from '../support/sync/lying-source.ts';
import { ReplicaThread } from '../support/sync/replica-thread.ts';
import { differences, startPair } from '../support/sync/sync-pair.ts';

type Body = Record<string, unknown>;

const MEGABYTE = 2 ** 20;
/** Memory of messages of 60 MB on their way, without being parsed. */
const MOST_GROWN_BYTES = 600 * MEGABYTE;
const NOBODY = 'http://127.0.0.1:9';

const source = await createDatabase('hostile_stream');
let tip = 119;
await createDecoder(source, { seed: 'hostile stream', blocks: 20, rows: 200 });
const { server } = await startPair('decoder', source);

/** The empty objects of a table: the parser makes twenty times as much of them. */
const emptyRows = (megabytes: number) => Buffer.alloc(megabytes * MEGABYTE, '{},');

/** The same message with such a table. */
function swollen(message: Body, rows: Buffer): Buffer {
  const { data: _, ...head } = message;
  return Buffer.concat([Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":{"a":[`), rows, Buffer.from('{}]}}')]);
}

/** A way to the server on which the blocks that come in its stream are swollen. */
async function swellingSource(megabytes: number, count = Number.POSITIVE_INFINITY) {
  const rows = emptyRows(megabytes);
  const sent: Body[] = [];
  const { url } = await startLyingSource(server.url, undefined, undefined, (message) => {
    if (message['type'] !== 'block' || sent.length >= count) return [message];
    sent.push(message);
    return [swollen(message, rows)];
  });
  return { url, sent };
}

/** Watches the most memory that the process takes beyond what it had at first. */
function watchMemory() {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  return () => {
    clearInterval(timer);
    return most - before;
  };
}

/** Follows these sources through three blocks. @returns what the process grew by */
async function followThrough(sources: readonly string[], verifyHashes: boolean, memoryMb = 1_024): Promise<number> {
  const to = await createDatabase('hostile_stream_replica');
  const replica = new ReplicaThread(to, 'decoder', sources, { verifyHashes }, { maxOldGenerationSizeMb: memoryMb });
  await replica.isLiveAt(tip);
  const memory = watchMemory();
  for (let block = 0; block < 3; block++) {
    tip = await appendBlocks(source, 1, `block after ${tip}`);
    await replica.isLiveAt(tip);
  }
  const grown = memory();
  const verdict = await compareDatabases(source, to);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  await replica.end();
  return grown;
}

test('only the heads of messages are parsed of a source that is listened to for hashes alone', async () => {
  const { url, sent } = await swellingSource(60);
  // The third names no block: without the hashes of the second there is no majority.
  const grown = await followThrough([server.url, url, NOBODY], true);
  assert.ok(sent.length >= 3);
  assert.ok(grown < MOST_GROWN_BYTES, `${Math.round(grown / MEGABYTE)} MB`);
});

test('one that sends 250 MB in a message is cut off, and asked by REST', async () => {
  const { url, sent } = await swellingSource(250, 1);
  const grown = await followThrough([server.url, url, NOBODY], true);
  assert.equal(sent.length, 1);
  assert.ok(grown < MOST_GROWN_BYTES, `${Math.round(grown / MEGABYTE)} MB`);
});

test('SOURCE_INVALID: a source that is followed and sends more values than any message has; the next one is followed', async () => {
  for (const [megabytes, memoryMb] of [
    [60, 1_024],
    [20, 256]
  ] as const) {
    const { url, sent } = await swellingSource(megabytes, 1);
    const grown = await followThrough([url, server.url], false, memoryMb);
    assert.equal(sent.length, 1);
    assert.ok(grown < MOST_GROWN_BYTES, `${Math.round(grown / MEGABYTE)} MB`);
  }
});
