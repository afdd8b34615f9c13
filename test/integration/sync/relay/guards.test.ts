import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger } from '../../../../src/log.ts';
import { NatsLink } from '../../../../src/sync/relay/link.ts';
import { pointRecord } from '../../../../src/sync/relay/record.ts';
import { DatabaseStream } from '../../../../src/sync/relay/stream.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { TestNats } from '../../../support/sync/nats.ts';
import { openRelay, pointAt, RelaySource } from '../../../support/sync/relay-source.ts';
import { eventually, temporaryDirectory } from '../../../support/sync/sync-process.ts';

const nats = await TestNats.start();

test('a stream takes no message behind another one than its last, whoever sends it', async () => {
  const source = new RelaySource(nats, 'fenced');
  const link = new NatsLink({ urls: [nats.url], creds: undefined, token: undefined, log: silentLogger });
  atEnd(() => link.close());
  const limits = { replicas: 1, keepMs: 3_600_000, maxBytes: 2 ** 20 };
  const stream = await DatabaseStream.open(await link.connected(AbortSignal.timeout(60_000)), source.id, limits);
  const at = (height: number) => pointRecord('break', source.id, pointAt(height, 'a', 0));
  const last = await stream.publish(at(1), 'one', 1, 0);
  await assert.rejects(stream.publish(at(2), 'another', 1, last - 1), /wrong last sequence/);
  await stream.publish(at(3), 'one', 2, last);
  assert.deepEqual(await source.types(), ['break 1', 'break 3']);
});

test('a message that its spool has not as it was written is not published: a break stands for it', async () => {
  const source = new RelaySource(nats, 'damaged');
  const directory = temporaryDirectory('relay');
  const relay = openRelay(nats, { directory });
  await source.keep(relay);
  await source.isPublished(relay);
  await nats.end();
  for (let height = 1; height <= 3; height++) await source.block(relay, 'a', 100 + height);
  const spool = join(directory, 'decoder.damaged.regtest');
  const path = join(spool, readdirSync(spool).find((name) => name.endsWith('.spool'))!);
  const bytes = readFileSync(path);
  bytes[bytes.indexOf('x'.repeat(102)) + 50] = 0x79;
  writeFileSync(path, bytes);
  await nats.start();
  await source.isPublished(relay);
  await source.block(relay);
  await source.isPublished(relay);
  const published = await source.published();
  assert.deepEqual(
    published.filter((text) => !source.sent.includes(text)),
    []
  );
  assert.deepEqual((await source.types()).slice(-2), ['break 3', 'block 4']);
});

test('a snapshot that was begun before a reorg is not listed behind it', async () => {
  const source = new RelaySource(nats, 'begun');
  const relay = openRelay(nats);
  await source.keep(relay);
  for (let height = 1; height <= 5; height++) await source.block(relay);
  await source.isPublished(relay);
  const [begun, reorganized] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isLeft = false;
  relay.keepSnapshots(1_000, async (_, coding) => {
    if (coding === 'zstd') throw new Error('one coding is enough');
    return {
      etag: `"${'0'.repeat(32)}-${coding}"`,
      headers: { 'x-block-height': '5' },
      height: 5,
      async *read() {
        yield Buffer.from('of block 5');
        begun.resolve();
        await reorganized.promise;
      },
      leave: () => {
        isLeft = true;
      }
    };
  });
  await begun.promise;
  await source.reorg(relay, 4);
  await source.isPublished(relay);
  reorganized.resolve();
  await eventually('it is stored or given up', async () => isLeft);
  const listed = await nats.value('decoder.begun.regtest.snapshots').catch(() => null);
  assert.deepEqual(listed ?? [], []);
});

test('a server takes a stream over with a break behind a block that may get amendments', async () => {
  const [first, second] = [new RelaySource(nats, 'settling'), new RelaySource(nats, 'settling')];
  const [relay, standby] = [openRelay(nats), openRelay(nats)];
  await first.keep(relay);
  await first.block(relay, 'a', 10, { settling: true });
  await first.isPublished(relay);
  await second.keep(standby, pointAt(0, 'a', 0));
  await second.block(standby, 'a', 10, { settling: true });
  await eventually('it stands by', async () => standby.view(second.id)?.state === 'standby');
  await relay.close();
  await second.isPublished(standby);
  await second.block(standby);
  await second.isPublished(standby);
  const types = await second.types();
  assert.match(types[2] ?? '', /^break [01]$/);
  assert.equal(types.at(-1), 'block 2');
});

test('a start of the source is told by the stream, also one that changed nothing else', async () => {
  const source = new RelaySource(nats, 'started');
  const directory = temporaryDirectory('relay');
  const first = { ...pointAt(0, 'a', 0), lives: [{ id: 'one', from: -1 }] };
  const relay = openRelay(nats, { directory });
  await source.keep(relay, first);
  await source.isPublished(relay);
  await relay.close();
  const successor = openRelay(nats, { directory });
  await source.keep(successor, { ...first, lives: [...first.lives, { id: 'two', from: 0 }] });
  await source.isPublished(successor);
  const messages = await nats.read(source.stream);
  const lives = messages.map(({ head, text }) => [head['Type'], JSON.parse(text).lives.at(-1).id]);
  assert.deepEqual(lives, [
    ['break', 'one'],
    ['point', 'two']
  ]);
});

test('a state directory that was restored skips nothing: its positions are of other messages than those of the stream', async () => {
  const source = new RelaySource(nats, 'restored');
  const [directory, backup] = [temporaryDirectory('relay'), join(temporaryDirectory('backup'), 'relay')];
  const before = openRelay(nats, { directory });
  await source.keep(before);
  for (let height = 1; height <= 5; height++) await source.block(before);
  await source.isPublished(before);
  await before.close();
  cpSync(directory, backup, { recursive: true });
  const after = openRelay(nats, { directory });
  await source.keep(after);
  for (let height = 6; height <= 8; height++) await source.block(after);
  await source.isPublished(after);
  await after.close();

  await nats.end();
  const restored = new RelaySource(nats, 'restored');
  const relay = openRelay(nats, { directory: backup });
  await restored.keep(relay, pointAt(5, 'a', 0));
  for (let height = 6; height <= 12; height++) await restored.block(relay, 'b');
  await nats.start();
  await restored.isPublished(relay);
  await restored.block(relay, 'b');
  await restored.isPublished(relay);
  assert.deepEqual((await restored.types()).slice(-3), ['block 8', 'break 12', 'block 13']);
});
