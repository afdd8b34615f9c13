import { setTimeout as sleep } from 'node:timers/promises';
import { readArguments } from '../../test/support/arguments.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { runProgram } from '../../test/support/program.ts';
import { appendBlocks, createDecoder } from '../../test/support/sync/generated-decoder.ts';
import { startGuardedNats } from '../../test/support/sync/guarded-nats.ts';
import { startRelayProcess } from '../../test/support/sync/relay-process.ts';
import { openRelay, pointAt, RelaySource } from '../../test/support/sync/relay-source.ts';
import { PAIR_KEY, startPair } from '../../test/support/sync/sync-pair.ts';
import { eventually } from '../../test/support/sync/sync-process.ts';
import { openFedEdge, startEdge } from './support/edge-house.ts';
import { type Figure, median, p99, report } from './support/figures.ts';
import { chooseParts } from './support/parts.ts';
import { cpuMs, Helper, memoryMb } from './support/processes/helper.ts';
import type { SubscribersAsk } from './support/processes/subscribers.ts';

const BLOCK_BYTES = 20_000;
const DATABASE = 'decoder/litecoin/regtest';
const EDGES = 8;
const PER_EDGE = 500;
const BLOCKS = 40;
const RECEIPT_SUBSCRIBERS = 100;
const CORE_SUBSCRIBERS = [2_500, 5_000];
const CORE_BLOCKS = 20;
const IDLE = 2_000;
const RESUMING = 2_000;
const MISSED_BLOCKS = 2;
/** Time in which an idle process gives back what its start needed. */
const REST_MS = 5_000;
/** The lease of a stream. */
const LEASE_MS = 6_000;

const now = () => performance.timeOrigin + performance.now();

/** By block, when it was received: the pairs of height and time that a crowd collects. */
function receipts(heard: Float64Array): Map<number, number[]> {
  const found = new Map<number, number[]>();
  for (let index = 0; index < heard.length; index += 2) {
    const times = found.get(heard[index]!) ?? [];
    times.push(heard[index + 1]!);
    found.set(heard[index]!, times);
  }
  return found;
}

/** Delays of all receipts. @param sentAt by height @throws {Error} when one is missing */
function delaysOf(heard: Float64Array, sentAt: ReadonlyMap<number, number>, receivers: number): number[] {
  const found = receipts(heard);
  return [...sentAt].flatMap(([height, at]) => {
    const times = found.get(height) ?? [];
    if (times.length !== receivers) throw new Error(`${times.length} of ${receivers} have block ${height}`);
    return times.map((time) => time - at);
  });
}

/** A decoder with its server, whose broadcasts go into NATS. */
async function openOrigin() {
  const guarded = await startGuardedNats();
  const source = await createDatabase('edges');
  await createDecoder(source, { seed: 'edges', blocks: 5, rows: 100 });
  const limits = { SYNC_RELAY_MAX_BYTES: 64 * 2 ** 20, WS_MAX_PER_IP: 100_000, LOG_LEVEL: 'warn' };
  const pair = await startPair('decoder', source, {
    SYNC_NATS_URL: guarded.nats.url,
    SYNC_NATS_CREDS: guarded.publisher,
    ...limits
  });
  return { guarded, source, pair };
}

/** CPU of the origin for a block, with eight edges and their subscribers, and without any, in turns. */
async function originCpu(): Promise<Figure[]> {
  const { guarded, source, pair } = await openOrigin();
  const pid = pair.server.child.pid!;
  const perBlock = async () => {
    const before = cpuMs(pid);
    for (let block = 0; block < BLOCKS; block++) {
      await appendBlocks(source, 1, `cpu-${block}`);
      await sleep(300);
    }
    return (cpuMs(pid) - before) / BLOCKS;
  };
  await perBlock(); // warm-up
  const [without, beside]: [number[], number[]] = [[], []];
  for (let run = 0; run < 3; run++) {
    without.push(await perBlock());
    const edges = [];
    for (let edge = 0; edge < EDGES; edge++) edges.push(await startEdge(guarded));
    const crowd = new Helper<SubscribersAsk>('subscribers.ts');
    for (const edge of edges) await crowd.ask({ type: 'connect', ...edge.at(DATABASE), count: PER_EDGE });
    beside.push(await perBlock());
    crowd.end();
    for (const { started } of edges) started.child.kill('SIGKILL');
    await Promise.all(edges.map(({ started }) => started.exited));
  }
  await pair.server.end();
  const what = `origin's CPU for a block, ${EDGES} edges with ${PER_EDGE} subscribers each, against none`;
  return [
    { what, measured: median(beside), reference: median(without), unit: 'ms', compare: 'times', most: 1.2, aim: 1.05 }
  ];
}

/** From the commit at the origin to the receipt behind an edge, beside subscribers of the origin itself. */
async function receipt(): Promise<Figure[]> {
  const { guarded, source, pair } = await openOrigin();
  const edge = await startEdge(guarded);
  const direct = new Helper<SubscribersAsk>('subscribers.ts');
  const behind = new Helper<SubscribersAsk>('subscribers.ts');
  const origin = { url: `${pair.server.url.replace('http', 'ws')}/subscribe/${DATABASE}`, key: PAIR_KEY };
  await direct.ask({ type: 'connect', ...origin, count: RECEIPT_SUBSCRIBERS });
  await behind.ask({ type: 'connect', ...edge.at(DATABASE), count: RECEIPT_SUBSCRIBERS });
  await appendBlocks(source, 1, 'first');
  await sleep(2_000);
  for (const crowd of [direct, behind]) await crowd.ask({ type: 'collect' });
  const sentAt = new Map<number, number>();
  for (let block = 0; block < 2 * BLOCKS; block++) {
    sentAt.set(await appendBlocks(source, 1, `receipt-${block}`), now());
    await sleep(200);
  }
  await sleep(2_000);
  const [edgeMs, directMs] = await Promise.all(
    [behind, direct].map(async (crowd) =>
      p99(delaysOf(await crowd.ask<Float64Array>({ type: 'collect' }), sentAt, RECEIPT_SUBSCRIBERS))
    )
  );
  for (const crowd of [direct, behind]) crowd.end();
  edge.started.child.kill('SIGTERM');
  await edge.started.exited;
  await pair.server.end();
  const what = `commit to receipt behind an edge, ${RECEIPT_SUBSCRIBERS} subscribers: p99, against those of the origin`;
  return [{ what, measured: edgeMs!, reference: directMs!, unit: 'ms', compare: 'above', most: 60, aim: 25 }];
}

/** Publishing to receipt at one edge, 20 KB each second: p99 has to stay below a second. */
async function perCore(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const subscribers of CORE_SUBSCRIBERS) {
    const { edge, at, crowd, block, end } = await openFedEdge(BLOCK_BYTES);
    await crowd.ask({ type: 'connect', ...at, count: subscribers });
    await block(); // warm-up
    await sleep(3_000);
    await crowd.ask({ type: 'collect' });
    const before = cpuMs(edge.pid);
    const sentAt = new Map<number, number>();
    for (let count = 0; count < CORE_BLOCKS; count++) {
      sentAt.set(3 + count, now());
      await block();
      await sleep(1_000 - ((now() - sentAt.get(3 + count)!) % 1_000));
    }
    await sleep(3_000);
    const microseconds = ((cpuMs(edge.pid) - before) * 1_000) / (CORE_BLOCKS * subscribers);
    console.error(`CPU of the edge for each message delivered: ${microseconds.toFixed(1)} us`);
    const found = p99(delaysOf(await crowd.ask<Float64Array>({ type: 'collect' }), sentAt, subscribers));
    await end();
    const what = `${subscribers} subscribers of one edge, 20 KB each second: p99, against a second`;
    figures.push({ what, measured: found, reference: 1_000, unit: 'ms', compare: 'times', most: 1, aim: 0.5 });
  }
  return figures;
}

/** Memory that an idle subscriber costs its edge. */
async function idleMemory(): Promise<Figure[]> {
  const { edge, at, crowd, end } = await openFedEdge(BLOCK_BYTES);
  await crowd.ask({ type: 'connect', ...at, count: PER_EDGE }); // what the first ones need stays
  await sleep(REST_MS);
  const before = memoryMb(edge.pid, 'VmRSS');
  console.error(`memory of the edge with ${PER_EDGE} subscribers: ${before.toFixed(0)} MB`);
  await crowd.ask({ type: 'connect', ...at, count: IDLE });
  await sleep(REST_MS);
  const each = ((memoryMb(edge.pid, 'VmRSS') - before) * 1_024) / IDLE;
  await end();
  const what = 'memory for an idle subscriber at an edge, against 24 KiB';
  return [{ what, measured: each, reference: 24, unit: 'KiB', compare: 'times', most: 1, aim: 0.5 }];
}

/** All subscribers are cut and come back at once, two blocks behind. */
async function reconnects(): Promise<Figure[]> {
  const { edge, at, crowd, block, after, end } = await openFedEdge(BLOCK_BYTES);
  await crowd.ask({ type: 'connect', ...at, count: RESUMING });
  for (let count = 0; count < MISSED_BLOCKS; count++) await block();
  await sleep(3_000);
  const times: number[] = [];
  const before = cpuMs(edge.pid);
  for (let run = 0; run < 3; run++) {
    times.push(await crowd.ask<number>({ type: 'resume', ...at, after: after(1) }));
    await sleep(3_000);
  }
  const each = ((cpuMs(edge.pid) - before) * 1_000) / (times.length * RESUMING);
  console.error(`CPU of the edge for each that comes back, with ${MISSED_BLOCKS} blocks: ${each.toFixed(0)} us`);
  await end();
  const what = `${RESUMING} subscribers come back at once with after=: all live again, against 5 s`;
  return [{ what, measured: median(times), reference: 5_000, unit: 'ms', compare: 'times', most: 1, aim: 0.4 }];
}

/** The server that writes the stream is killed: the next block behind an edge. */
async function takeOver(): Promise<Figure[]> {
  const times: number[] = [];
  for (let run = 0; run < 3; run++) {
    const guarded = await startGuardedNats();
    const { url } = guarded.nats;
    const publisher = startRelayProcess(url, 'bench', guarded.publisher);
    await publisher.publish('a', 1);
    const relay = openRelay({ url, creds: guarded.publisher });
    const source = new RelaySource(guarded.nats, 'bench');
    await source.keep(relay, pointAt(0, 'a', 0));
    await source.block(relay);
    await eventually('it stands by', async () => relay.view(source.id)?.waiting === 0);
    const edge = await startEdge(guarded);
    const crowd = new Helper<SubscribersAsk>('subscribers.ts');
    await crowd.ask({ type: 'connect', ...edge.at('decoder/bench/regtest'), count: 1 });
    publisher.child.kill('SIGKILL');
    const killedAt = now();
    await source.block(relay);
    let heard = 0;
    await eventually('the block is behind the edge', async () => {
      const found = receipts(await crowd.ask<Float64Array>({ type: 'collect' })).get(2);
      heard = found?.[0] ?? 0;
      return heard > 0;
    });
    times.push(heard - killedAt);
    crowd.end();
    edge.started.child.kill('SIGKILL');
    await relay.close();
  }
  const what = 'the server that publishes is killed: next block behind an edge, against the lease';
  return [
    { what, measured: median(times), reference: LEASE_MS, unit: 'ms', compare: 'above', most: 3_000, aim: 1_000 }
  ];
}

const PARTS = {
  origin: originCpu,
  receipt,
  core: perCore,
  memory: idleMemory,
  reconnect: reconnects,
  takeover: takeOver
};

const options = readArguments(
  `npm run bench -- edge [--only ${Object.keys(PARTS).join()}] [--json FILE]`,
  { json: { type: 'string' }, only: { type: 'string' } },
  ({ json, only }) => ({ json, parts: chooseParts(only, PARTS) })
);

await runProgram(async () => {
  const figures: Figure[] = [];
  for (const run of options.parts) figures.push(...(await run()));
  report('edge', figures, options.json);
});
