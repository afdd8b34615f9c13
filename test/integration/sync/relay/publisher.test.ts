import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { connect, headers } from '@nats-io/transport-node';
import type { DatabaseId } from '../../../../src/wire/data/database.ts';
import type { StoredSnapshot } from '../../../../src/wire/data/stored-snapshot.ts';
import { startGuardedNats } from '../../../support/sync/guarded-nats.ts';
import { TestNats } from '../../../support/sync/nats.ts';
import { startRelayProcess } from '../../../support/sync/relay-process.ts';
import { openRelay, pointAt, RelaySource } from '../../../support/sync/relay-source.ts';
import { eventually, temporaryDirectory } from '../../../support/sync/sync-process.ts';

const nats = await TestNats.start();

test('a stream has the bytes of subscribers, in order, with headers; a long body is in the object store', async () => {
  const source = new RelaySource(nats, 'bytes');
  const warnings: unknown[] = [];
  const relay = openRelay(nats, { warnings });
  await source.keep(relay);
  for (let height = 1; height <= 150; height++) await source.block(relay);
  for (let height = 151; height <= 154; height++) await source.block(relay, 'a', height < 154 ? 600 * 2 ** 10 : 10);
  await source.block(relay, 'a', 600 * 2 ** 10);
  await source.isPublished(relay);
  assert.deepEqual(warnings, [], 'no message was refused');
  assert.deepEqual(await source.published(), source.sent);
  const [first, second, ...others] = await nats.read(source.stream);
  assert.deepEqual([first?.head['Type'], first?.head['Height'], first?.head['Hash']], ['break', '0', 'a0']);
  const { Type, Height, Hash, Previous, Reorgs, Schema, Position } = second!.head;
  assert.deepEqual(
    [Type, Height, Hash, Previous, Reorgs, Schema, Position],
    ['block', '1', 'a1', 'a0', '0', 'f1', '2']
  );
  assert.match(second!.head['Nats-Msg-Id']!, /^block:1:a1:0:/);
  const { Bucket, Size } = others.at(-1)!.head;
  assert.equal(Bucket, 'PLATFORM_DECODER_BYTES_REGTEST_BODIES');
  assert.equal(Number(Size), source.sent.at(-1)?.length);
});

test('blocks and a reorg while NATS is away are published when it is back, each once, and the reason is told meanwhile', async () => {
  const source = new RelaySource(nats, 'away');
  const relay = openRelay(nats);
  await source.keep(relay);
  for (let height = 1; height <= 5; height++) await source.block(relay);
  await source.isPublished(relay);
  await nats.end();
  for (let height = 6; height <= 8; height++) await source.block(relay);
  await source.reorg(relay, 7);
  for (let height = 7; height <= 80; height++) await source.block(relay, 'b');
  await eventually('the absence is noticed', async () => relay.view(source.id)?.state === 'away');
  const { reason, waiting, waitingBytes } = relay.view(source.id)!;
  assert.match(reason!, /NATS cannot be reached/);
  assert.ok(waiting >= 78 && waitingBytes > 78 * 50, `${waiting} messages of ${waitingBytes} bytes`);
  await nats.start();
  await source.isPublished(relay);
  assert.deepEqual(await source.published(), source.sent);
  assert.equal((await source.types()).filter((type) => type.startsWith('break')).length, 1);
});

test('NATS is killed in the middle of a flood: nothing is lost, repeated or out of order', async () => {
  const source = new RelaySource(nats, 'flood');
  const relay = openRelay(nats);
  await source.keep(relay);
  for (let height = 1; height <= 160; height++) {
    await source.block(relay, 'a', 2_000);
    if (height === 60) await nats.end();
    if (height === 120) await nats.start();
  }
  await source.isPublished(relay);
  assert.deepEqual(await source.published(), source.sent);
});

test('a successor continues where its predecessor ended; what was not published yet, it publishes', async () => {
  const source = new RelaySource(nats, 'successor');
  const directory = temporaryDirectory('relay');
  const relay = openRelay(nats, { directory });
  await source.keep(relay);
  for (let height = 1; height <= 3; height++) await source.block(relay);
  await source.isPublished(relay);
  await nats.end();
  for (let height = 4; height <= 6; height++) await source.block(relay);
  await relay.close();
  await nats.start();
  const successor = openRelay(nats, { directory });
  await source.keep(successor);
  await source.block(successor);
  await source.isPublished(successor);
  assert.deepEqual(await source.published(), source.sent);
  assert.equal((await source.types()).filter((type) => type.startsWith('break')).length, 1);
});

test('a record that was not written whole is cut off; without its spool a successor begins with a break', async () => {
  const source = new RelaySource(nats, 'spool');
  const directory = temporaryDirectory('relay');
  const spool = join(directory, 'decoder.spool.regtest');
  const relay = openRelay(nats, { directory });
  await source.keep(relay);
  for (let height = 1; height <= 3; height++) await source.block(relay);
  await source.isPublished(relay);
  await relay.close();
  const file = readdirSync(spool).find((name) => name.endsWith('.spool'))!;
  appendFileSync(join(spool, file), Buffer.from([9, 0, 0, 0, 9, 0, 0, 0, 1]));
  const second = openRelay(nats, { directory });
  await source.keep(second);
  await source.block(second);
  await source.isPublished(second);
  await second.close();
  rmSync(spool, { recursive: true });
  const third = openRelay(nats, { directory });
  await source.keep(third);
  await source.block(third);
  await source.isPublished(third);
  const blocks = [1, 2, 3, 4].map((height) => `block ${height}`);
  assert.deepEqual(await source.types(), ['break 0', ...blocks, 'break 4', 'block 5']);
});

test('a spool that cannot be written for a while: its source goes on, the reason is told, and a break follows behind all others', async () => {
  const source = new RelaySource(nats, 'unwritable');
  const directory = temporaryDirectory('relay');
  const spool = join(directory, 'decoder.unwritable.regtest');
  writeFileSync(spool, '');
  const relay = openRelay(nats, { directory });
  await source.keep(relay);
  await source.block(relay);
  assert.match(relay.view(source.id)!.reason!, /the spool cannot be written/);
  rmSync(spool);
  for (let height = 2; height <= 4; height++) await source.block(relay);
  await source.isPublished(relay);
  assert.equal(relay.view(source.id)!.reason, null);
  renameSync(spool, `${spool}.away`);
  await source.keep(relay, pointAt(9, 'b', 1));
  assert.match(relay.view(source.id)!.reason!, /the spool cannot be written/);
  renameSync(`${spool}.away`, spool);
  await source.block(relay, 'b');
  await source.isPublished(relay);
  const blocks = [2, 3, 4].map((height) => `block ${height}`);
  assert.deepEqual(await source.types(), ['break 1', ...blocks, 'break 9', 'block 10']);
});

test('a message of nobody interrupts no publisher: it goes on behind it', async () => {
  const source = new RelaySource(nats, 'nobody');
  const relay = openRelay(nats);
  await source.keep(relay);
  await source.block(relay);
  await source.isPublished(relay);
  const connection = await connect({ servers: nats.url });
  const head = headers();
  head.set('Platform-Sha256', createHash('sha256').update('').digest('hex'));
  for (let copies = 0; copies < 3; copies++)
    await jetstream(connection).publish('platform.v1.decoder.nobody.regtest', '', { headers: head });
  await connection.close();
  for (let height = 2; height <= 4; height++) await source.block(relay);
  await source.isPublished(relay);
  const of = (await source.types()).filter((type) => !type.startsWith('undefined'));
  assert.deepEqual(of, ['break 0', 'block 1', 'block 2', 'block 3', 'block 4']);
});

test('one of two servers publishes; the other stands by and continues the stream without a gap or a break', async () => {
  const [first, second] = [new RelaySource(nats, 'standby'), new RelaySource(nats, 'standby')];
  const relay = openRelay(nats);
  await first.keep(relay);
  await first.isPublished(relay);
  const standby = openRelay(nats);
  await second.keep(standby, pointAt(0, 'a', 0));
  await eventually('it stands by', async () => standby.view(second.id)?.state === 'standby');
  assert.match(standby.view(second.id)?.reason ?? '', /another server \(.*\) writes the stream/);
  for (let height = 1; height <= 3; height++) {
    await first.block(relay);
    await second.block(standby);
  }
  await first.isPublished(relay);
  await eventually('what is in the stream waits no more', async () => standby.view(second.id)?.waiting === 0);
  await second.block(standby); // ahead of the other
  await relay.close();
  await second.isPublished(standby);
  const blocks = [1, 2, 3].map((height) => `block ${height}`);
  assert.deepEqual(await second.types(), ['break 0', ...blocks, 'point 3', 'block 4']);
  assert.deepEqual(await second.published(), second.sent);
});

test('a server whose source does not run leaves the stream to another one, and takes it again when nobody has it', async () => {
  const [first, second] = [new RelaySource(nats, 'unfed'), new RelaySource(nats, 'unfed')];
  let runs = true;
  const relay = openRelay(nats, { isFed: () => runs });
  await first.keep(relay);
  await first.isPublished(relay);
  const other = openRelay(nats);
  await second.keep(other, pointAt(0, 'a', 0));
  await first.block(relay);
  await second.block(other);
  await first.isPublished(relay);
  runs = false;
  await second.block(other);
  await second.isPublished(other);
  assert.deepEqual(await second.types(), ['break 0', 'block 1', 'point 1', 'block 2']);
  await eventually('it stands by', async () => relay.view(first.id)?.state === 'standby');
  await other.close();
  await eventually('nobody has it', async () => /source .* does not run/.test(relay.view(first.id)?.reason ?? ''));
  assert.equal(relay.view(first.id)?.state, 'away', 'that is ill health');
  runs = true;
  await first.block(relay);
  await first.block(relay);
  await first.isPublished(relay);
  assert.deepEqual((await first.types()).slice(4), ['point 2', 'block 3']);
  assert.deepEqual(await first.published(), first.sent);
});

test('a server takes a stream over with a break where it has sent other bytes of the last block', async () => {
  const [first, second] = [new RelaySource(nats, 'differs'), new RelaySource(nats, 'differs')];
  const [relay, standby] = [openRelay(nats), openRelay(nats)];
  await first.keep(relay);
  await first.block(relay, 'a', 11);
  await first.isPublished(relay);
  await second.keep(standby, pointAt(0, 'a', 0));
  await second.block(standby, 'a', 12);
  await relay.close();
  await second.isPublished(standby);
  await second.block(standby);
  await second.isPublished(standby);
  assert.deepEqual((await second.types()).slice(0, 2), ['break 0', 'block 1']);
  assert.match((await second.types())[2] ?? '', /^break [01]$/);
  assert.equal((await second.types()).at(-1), 'block 2');
});

test('a server takes a stream over with a break where it cannot tell which of two equal blocks ends it', async () => {
  const [first, second] = [new RelaySource(nats, 'twice'), new RelaySource(nats, 'twice')];
  const relay = openRelay(nats);
  await first.keep(relay);
  await first.block(relay);
  await first.isPublished(relay);
  const standby = openRelay(nats);
  await second.keep(standby, pointAt(0, 'a', 0));
  await second.block(standby);
  await second.reorg(standby, 1);
  await second.block(standby, 'b');
  await second.reorg(standby, 1);
  await second.block(standby);
  await relay.close();
  await second.isPublished(standby);
  await second.block(standby);
  await second.isPublished(standby);
  const branches = ['reorg 1', 'block 1', 'reorg 1', 'block 1'];
  assert.deepEqual((await second.types()).slice(2), ['break 0', 'block 1', ...branches, 'block 2']);
});

test('a server that stood still for longer than its lease forks nothing: what it sent meanwhile is not in the stream', async () => {
  const source = new RelaySource(nats, 'frozen');
  const frozen = startRelayProcess(nats.url, 'frozen');
  const standby = openRelay(nats);
  await frozen.publish('a', 2);
  await source.keep(standby, pointAt(0, 'a', 0));
  for (let height = 1; height <= 2; height++) await source.block(standby);
  await eventually('it stands by', async () => standby.view(source.id)?.waiting === 0);
  frozen.child.kill('SIGSTOP');
  frozen.order('late', 3); // it will read them when it goes on
  await source.isPublished(standby);
  for (let height = 3; height <= 6; height++) await source.block(standby);
  await source.isPublished(standby);
  frozen.child.kill('SIGCONT');
  await frozen.isAnswered('standby');
  await source.block(standby);
  await source.isPublished(standby);
  assert.deepEqual(await source.published(), source.sent);
  assert.equal((await source.types()).filter((type) => type.startsWith('break')).length, 1);
});

test('a snapshot of each coding is stored, and gone when the reorg that makes it invalid is in the stream', async () => {
  const source = new RelaySource(nats, 'snapshots');
  const relay = openRelay(nats);
  const left: string[] = [];
  relay.keepSnapshots(1_000, async (_, coding) => ({
    etag: `"${'0'.repeat(32)}-${coding}"`,
    headers: { 'x-block-height': '3' },
    height: 3,
    async *read() {
      for (const part of ['part one, ', coding]) yield Buffer.from(part);
    },
    leave: () => void left.push(coding)
  }));
  const listed = async () => {
    const found = await nats.value('decoder.snapshots.regtest.snapshots').catch(() => null); // the bucket comes with the first
    return (found ?? []) as unknown as StoredSnapshot[];
  };
  await source.keep(relay);
  for (let height = 1; height <= 5; height++) await source.block(relay);
  await eventually('both are stored', async () => (await listed()).length === 2);
  const sha256 = createHash('sha256').update('part one, gzip').digest('hex');
  const [gzip] = (await listed()).filter(({ coding }) => coding === 'gzip');
  assert.deepEqual([gzip?.height, gzip?.sizeBytes, gzip?.sha256], [3, 14, sha256]);
  assert.deepEqual(left, ['gzip', 'zstd']);
  await source.reorg(relay, 4);
  await source.isPublished(relay);
  assert.equal((await listed()).length, 2, 'they are of blocks below');
  await source.reorg(relay, 3);
  await source.isPublished(relay);
  assert.deepEqual(await listed(), []);
});

test('more than may wait for NATS gives way to a break', async () => {
  const source = new RelaySource(nats, 'limit');
  const relay = openRelay(nats, { maxBacklogBytes: 10_000 });
  await source.keep(relay);
  await source.block(relay);
  await source.isPublished(relay);
  await nats.end();
  for (let height = 2; height <= 20; height++) await source.block(relay, 'a', 1_000);
  await nats.start();
  await source.isPublished(relay);
  await source.block(relay);
  await source.isPublished(relay);
  const types = await source.types();
  const at = types.findLastIndex((type) => type.startsWith('break'));
  const from = Number(types[at]?.split(' ')[1]);
  assert.ok(from > 10 && from <= 20, `the break is at ${from}`);
  const left = Array.from({ length: 21 - from }, (_, index) => `block ${from + 1 + index}`);
  assert.deepEqual(types.slice(at + 1), left);
});

test('a stream that carries another subject is not written', async () => {
  const source = new RelaySource(nats, 'a_b');
  const other: DatabaseId = { dbType: 'decoder', chain: 'a', network: 'b_regtest' };
  const relay = openRelay(nats);
  await source.keep(relay);
  await source.isPublished(relay);
  await relay.accept(other, [], null, pointAt(0, 'a', 0));
  const refusal = /PLATFORM_DECODER_A_B_REGTEST carries platform\.v1\.decoder\.a_b\.regtest, and not platform/;
  await eventually('it is refused', async () => refusal.test(relay.view(other)?.reason ?? ''));
  assert.deepEqual(await source.types(), ['break 0']);
});

test('with the users of ops/nats a publisher writes, a reader reads and writes nothing, and a monitor sees numbers alone', async () => {
  const { nats: guarded, publisher: creds, asReader, asMonitor } = await startGuardedNats();
  const source = new RelaySource(nats, 'guarded');
  const relay = openRelay({ url: guarded.url, creds });
  await source.keep(relay);
  await source.block(relay, 'a', 600 * 2 ** 10);
  await source.block(relay);
  await source.isPublished(relay);
  const messages = await guarded.read(source.stream);
  assert.deepEqual(
    messages.slice(1).map(({ text }) => text),
    source.sent
  );
  const connection = await connect({ servers: guarded.url, authenticator: asReader, reconnect: false });
  const subject = 'platform.v1.decoder.guarded.regtest';
  await assert.rejects(jetstream(connection).publish(subject, 'forged', { timeout: 1_000 }), /Permissions Violation/i);
  const purge = `$JS.API.STREAM.PURGE.${source.stream}`;
  await assert.rejects(connection.request(purge, '', { timeout: 1_000 }), /Permissions Violation/i);
  await connection.close();
  const monitor = await connect({ servers: guarded.url, authenticator: asMonitor, reconnect: false });
  const ask = async (api: string) => (await monitor.request(`$JS.API.${api}`, '', { timeout: 1_000 })).json<object>();
  assert.ok('state' in (await ask(`STREAM.INFO.${source.stream}`)));
  for (const refused of [
    `STREAM.MSG.GET.${source.stream}`,
    `CONSUMER.CREATE.${source.stream}`,
    `STREAM.DELETE.${source.stream}`
  ])
    await assert.rejects(ask(refused), /Permissions Violation/i, refused);
  await monitor.close();
  assert.equal((await guarded.read(source.stream)).length, 3);
});
