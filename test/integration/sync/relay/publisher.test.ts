import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { type Logger, silentLogger } from '../../../../src/log.ts';
import type { ResumePoint } from '../../../../src/replication/source/reading/resume-point.ts';
import { Relay } from '../../../../src/sync/relay/relay.ts';
import type { Broadcast } from '../../../../src/wire/data/broadcast.ts';
import type { DatabaseId } from '../../../../src/wire/data/database.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { startGuardedNats } from '../../../support/sync/guarded-nats.ts';
import { TestNats } from '../../../support/sync/nats.ts';
import { eventually, temporaryDirectory } from '../../../support/sync/sync-process.ts';

const nats = await TestNats.start();

/** A database of a chain of its own, and a source that broadcasts blocks of it. */
class Source {
  readonly id: DatabaseId;
  readonly stream: string;
  readonly sent: string[] = [];
  #point: ResumePoint | null = null;

  constructor(chain: string) {
    this.id = { dbType: 'decoder', chain, network: 'regtest' };
    this.stream = `PLATFORM_DECODER_${chain.toUpperCase()}_REGTEST`;
  }

  /** Keeps its point, as an actor does when it starts. */
  async keep(relay: Relay, point: ResumePoint | null = this.#point): Promise<void> {
    const kept = point ?? pointAt(0, 'a', 0);
    const before = this.#point;
    this.#point = kept;
    await relay.accept(this.id, [], before, kept);
  }

  /** Broadcasts the block after the last one. @param fill bytes of its rows */
  async block(relay: Relay, branch = 'a', fill = 10): Promise<void> {
    const { height, hashes, reorgs = 0 } = this.#point!;
    const next = pointAt(height + 1, branch, reorgs);
    const text = JSON.stringify({ type: 'block', block_index: height + 1, branch, fill: 'x'.repeat(fill) });
    const names = { hashes: next.hashes, previous: hashes, schema: 'f1' };
    await this.#broadcast(
      relay,
      { type: 'block', height: height + 1, bytes: Buffer.from(text), infraBytes: null, names },
      next
    );
  }

  /** Orphans the blocks from this height on. */
  async reorg(relay: Relay, fork: number): Promise<void> {
    const next = pointAt(fork - 1, 'a', (this.#point?.reorgs ?? 0) + 1);
    const text = JSON.stringify({ type: 'reorg', block_index: fork });
    await this.#broadcast(relay, { type: 'reorg', height: fork, bytes: Buffer.from(text), infraBytes: null }, next);
  }

  async #broadcast(relay: Relay, message: Broadcast, next: ResumePoint): Promise<void> {
    const before = this.#point;
    this.#point = next;
    this.sent.push(Buffer.from(message.bytes).toString());
    await relay.accept(this.id, [message], before, next);
  }

  /** The bytes of subscribers in the stream, in order. */
  async published(): Promise<string[]> {
    const messages = await nats.read(this.stream);
    return messages.filter(({ head }) => !['break', 'point'].includes(head['Type']!)).map(({ text }) => text);
  }

  async types(): Promise<string[]> {
    return (await nats.read(this.stream)).map(({ head: { Type, Height } }) => `${Type} ${Height}`);
  }

  async isPublished(relay: Relay): Promise<void> {
    await eventually('the stream has everything', async () => {
      const { state, waiting } = relay.view(this.id)!;
      return state === 'publishing' && waiting === 0;
    });
  }
}

function pointAt(height: number, branch: string, reorgs: number): ResumePoint {
  const hashes = { block_hash: `${branch}${height}` };
  return {
    height,
    blockTime: height,
    hashes,
    reorgs,
    recent: [{ height, hashes }],
    openGroup: null,
    lookupIds: {},
    watches: {}
  };
}

/** @param warnings gets what the relay warns of */
function openRelay(
  directory = temporaryDirectory('relay'),
  maxBacklogBytes = 2 ** 30,
  warnings: unknown[] = [],
  place: { readonly url: string; readonly creds?: string } = nats
): Relay {
  const warn = (...said: unknown[]) => warnings.push(said);
  const log: Logger = Object.assign(Object.create(silentLogger), { warn, child: () => log });
  const relay = new Relay({
    nats: { urls: [place.url], creds: place.creds, token: undefined },
    limits: { replicas: 1, keepMs: 3_600_000, maxBytes: 64 * 2 ** 20 },
    directory,
    maxBacklogBytes,
    log
  });
  atEnd(() => relay.close());
  return relay;
}

test('a stream has the bytes of subscribers, in order, with headers; a long body is in the object store', async () => {
  const source = new Source('bytes');
  const warnings: unknown[] = [];
  const relay = openRelay(undefined, undefined, warnings);
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
  const source = new Source('away');
  const relay = openRelay();
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
  const source = new Source('flood');
  const relay = openRelay();
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
  const source = new Source('successor');
  const directory = temporaryDirectory('relay');
  const relay = openRelay(directory);
  await source.keep(relay);
  for (let height = 1; height <= 3; height++) await source.block(relay);
  await source.isPublished(relay);
  await nats.end();
  for (let height = 4; height <= 6; height++) await source.block(relay);
  await relay.close();
  await nats.start();
  const successor = openRelay(directory);
  await source.keep(successor);
  await source.block(successor);
  await source.isPublished(successor);
  assert.deepEqual(await source.published(), source.sent);
  assert.equal((await source.types()).filter((type) => type.startsWith('break')).length, 1);
});

test('a record that was not written whole is cut off; without its spool a successor begins with a break', async () => {
  const source = new Source('spool');
  const directory = temporaryDirectory('relay');
  const spool = join(directory, 'decoder.spool.regtest');
  const relay = openRelay(directory);
  await source.keep(relay);
  for (let height = 1; height <= 3; height++) await source.block(relay);
  await source.isPublished(relay);
  await relay.close();
  const file = readdirSync(spool).find((name) => name.endsWith('.spool'))!;
  appendFileSync(join(spool, file), Buffer.from([9, 0, 0, 0, 9, 0, 0, 0, 1]));
  const second = openRelay(directory);
  await source.keep(second);
  await source.block(second);
  await source.isPublished(second);
  await second.close();
  rmSync(spool, { recursive: true });
  const third = openRelay(directory);
  await source.keep(third);
  await source.block(third);
  await source.isPublished(third);
  const blocks = [1, 2, 3, 4].map((height) => `block ${height}`);
  assert.deepEqual(await source.types(), ['break 0', ...blocks, 'break 4', 'block 5']);
});

test('a publisher that wakes up behind another is fenced: nothing of it reaches the stream until it starts anew', async () => {
  const late = new Source('fence');
  const other = new Source('fence');
  const directory = temporaryDirectory('relay');
  const [lateRelay, otherRelay] = [openRelay(directory), openRelay()];
  await late.keep(lateRelay);
  await late.block(lateRelay);
  await late.isPublished(lateRelay);
  await other.keep(otherRelay, pointAt(1, 'a', 0));
  await other.block(otherRelay);
  await other.isPublished(otherRelay);
  await late.block(lateRelay, 'late');
  await eventually('it is fenced', async () => lateRelay.view(late.id)?.state === 'fenced');
  assert.match(lateRelay.view(late.id)?.reason ?? '', /another publisher/);
  await other.block(otherRelay);
  await late.block(lateRelay, 'late');
  await other.isPublished(otherRelay);
  assert.deepEqual(await other.types(), ['break 0', 'block 1', 'break 1', 'block 2', 'block 3']);
  await lateRelay.close();
  const anew = openRelay(directory);
  await late.keep(anew, pointAt(3, 'a', 0));
  await late.block(anew);
  await late.isPublished(anew);
  assert.deepEqual((await late.types()).slice(5), ['break 3', 'block 4']);
});

test('more than may wait for NATS gives way to a break', async () => {
  const source = new Source('limit');
  const relay = openRelay(undefined, 10_000);
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
  const source = new Source('a_b');
  const other: DatabaseId = { dbType: 'decoder', chain: 'a', network: 'b_regtest' };
  const relay = openRelay();
  await source.keep(relay);
  await source.isPublished(relay);
  await relay.accept(other, [], null, pointAt(0, 'a', 0));
  const refusal = /PLATFORM_DECODER_A_B_REGTEST carries platform\.v1\.decoder\.a_b\.regtest, and not platform/;
  await eventually('it is refused', async () => refusal.test(relay.view(other)?.reason ?? ''));
  assert.deepEqual(await source.types(), ['break 0']);
});

test('with the users of ops/nats a publisher with its nkey writes, and a reader reads and writes nothing', async () => {
  const { nats: guarded, publisher: creds, asReader: authenticator } = await startGuardedNats();
  const source = new Source('guarded');
  const relay = openRelay(undefined, undefined, [], { url: guarded.url, creds });
  await source.keep(relay);
  await source.block(relay, 'a', 600 * 2 ** 10);
  await source.block(relay);
  await source.isPublished(relay);
  const messages = await guarded.read(source.stream);
  assert.deepEqual(
    messages.slice(1).map(({ text }) => text),
    source.sent
  );
  const connection = await connect({ servers: guarded.url, authenticator, reconnect: false });
  const subject = 'platform.v1.decoder.guarded.regtest';
  await assert.rejects(jetstream(connection).publish(subject, 'forged', { timeout: 1_000 }), /Permissions Violation/i);
  const purge = `$JS.API.STREAM.PURGE.${source.stream}`;
  await assert.rejects(connection.request(purge, '', { timeout: 1_000 }), /Permissions Violation/i);
  await connection.close();
  assert.equal((await guarded.read(source.stream)).length, 3);
});
