import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { TaskPool } from '../../actors/runtime/task-pool.ts';
import { decoderMachine } from '../../machines/follower/chain-writer.ts';
import { toBaseUnits, toDecimal } from '../../src/coin/amount.ts';
import { chainNetwork } from '../../src/coin/chains.ts';
import { NodeChain } from '../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { RawChain } from '../../src/coin/node/raw-chain.ts';
import { encodePayload } from '../../src/coin/payload/payload.ts';
import { addressOf } from '../../src/coin/script/address.ts';
import { BlockFeed } from '../../src/decoder/block-feed.ts';
import { scanBlock } from '../../src/decoder/block-scan.ts';
import { type DecoderStore, openDecoderStore } from '../../src/decoder/store.ts';
import { type PrivateLitecoind, startLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { ChainLoop } from '../../src/follower/loop.ts';
import { scanParallelism } from '../../src/follower/range-feed.ts';
import { ChainWork } from '../../src/follower/work.ts';
import { silentLogger } from '../../src/log.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { returnScript } from '../../test/support/coin/carriers.ts';
import { type TransactionParts, writeBlock } from '../../test/support/coin/raw-writer.ts';
import { query, scanRules } from '../../test/support/decoder/loop.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import type { DecoderTasks } from '../../workers/decoder/tasks.ts';
import { alternate, type Figure, median, report } from './support/figures.ts';
import { cpuMs } from './support/processes/helper.ts';
import { watchedDispensers } from './support/watched-dispensers.ts';

const { runs, emptyBlocks, fullBlocks, watched } = readArguments(
  'npm run bench -- decoder [--short]',
  { short: { type: 'boolean' } },
  ({ short }) =>
    short
      ? { runs: 1, emptyBlocks: 6_000, fullBlocks: 10, watched: 20_000 }
      : { runs: 3, emptyBlocks: 10_000, fullBlocks: 120, watched: 200_000 }
);

const MAGIC = 'TEST';
const NETWORK = chainNetwork('litecoin', 'regtest');
const RULES = scanRules(NETWORK, MAGIC);
const PARALLELISM = scanParallelism(availableParallelism());
/** Requests for blocks that are under way of each range. */
const PER_RANGE = 2;
const figures: Figure[] = [];
const stops: (() => Promise<void>)[] = [];
after(async () => {
  for (const stop of stops.reverse()) await stop();
  if (figures.length > 0) report('decoder', figures);
});

async function startNode(): Promise<PrivateLitecoind> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-bench-ltc-'));
  const node = await startLitecoind(directory, { magic: MAGIC });
  stops.push(async () => {
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  return node;
}

/** A decoder as the service composes it, on a database of its own. */
async function startDecoder({ url, user, password }: PrivateLitecoind) {
  const database = await createDatabase('bench_decoder');
  const node = { url, user, password };
  const rpc = new NodeRpc(node);
  const tasks = new TaskPool<DecoderTasks>({ maxThreads: PARALLELISM });
  const feed = new BlockFeed({
    versions: NETWORK.addresses,
    parallelism: PARALLELISM,
    scan: (range, signal) => tasks.run('decoder/scan-blocks', { node, range, rules: RULES }, { signal })
  });
  const work = new ChainWork({
    command: 'decoder',
    network: NETWORK,
    startBlock: 0,
    pollIntervalMs: 1_000,
    chain: new NodeChain(rpc),
    feed,
    take: async (store: DecoderStore, from, tip, signal) =>
      feed.take(from, tip, await store.paymentMarks(NETWORK.addresses), signal),
    openStore: () => openDecoderStore(database),
    log: silentLogger
  });
  const loop = new ChainLoop({ machine: decoderMachine, work, counters: [], retryDelayMs: 3_000, log: silentLogger });
  const stopping = new AbortController();
  const ended = loop.run(stopping.signal);
  return {
    database,
    async reach(height: number) {
      while ((loop.report.lastProcessedBlock ?? -1) < height) await Promise.race([sleep(2), ended]);
    },
    async stop() {
      stopping.abort();
      await ended;
      await tasks.close();
      await rpc.close();
    }
  };
}

/** Cost of a decoder's way from its first block to the node's tip. */
interface CatchUp {
  readonly ms: number;
  /** CPU of this process, and of the node meanwhile. */
  readonly cpuMs: number;
  readonly nodeCpuMs: number;
  /** The most memory that it held beyond what it held before. */
  readonly growthMb: number;
}

async function catchUp(node: PrivateLitecoind): Promise<CatchUp> {
  const height = await node.height();
  const idle = process.memoryUsage.rss();
  const decoder = await startDecoder(node);
  await decoder.reach(0);
  let highest = idle;
  const looking = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 20);
  const [nodeCpu, ownCpu, began] = [cpuMs(node.pid), cpuMs(process.pid), performance.now()];
  await decoder.reach(height);
  const ms = performance.now() - began;
  const found = { ms, cpuMs: cpuMs(process.pid) - ownCpu, nodeCpuMs: cpuMs(node.pid) - nodeCpu };
  clearInterval(looking);
  await decoder.stop();
  return { ...found, growthMb: (highest - idle) / 2 ** 20 };
}

/** Milliseconds of a program that fetches the same blocks, as many at once, and drops them. */
async function fetchAndDrop(node: PrivateLitecoind, perRequest: number): Promise<number> {
  const height = await node.height();
  const rpc = new NodeRpc({ url: node.url, user: node.user, password: node.password });
  const chain = new RawChain(rpc);
  const began = performance.now();
  let next = 0;
  const fetchSome = async () => {
    while (next <= height) {
      const from = next;
      const count = Math.min(500, height - from + 1);
      next += count;
      const hashes = await chain.hashes(from, count);
      for (let at = 0; at < count; at += perRequest) {
        if (perRequest === 1) await chain.block(hashes[at]!);
        else await chain.smallBlocks(hashes.slice(at, at + perRequest));
      }
    }
  };
  await Promise.all(Array.from({ length: PER_RANGE * PARALLELISM }, fetchSome));
  const ms = performance.now() - began;
  await rpc.close();
  return ms;
}

test('own CPU of a transaction, in blocks of 2,501 small ones', () => {
  const key = (index: number) => {
    const script = Buffer.alloc(22, index);
    script.set([0, 20]);
    script.writeUInt32LE(index, 4);
    return script;
  };
  const transactions = Array.from({ length: 2_501 }, (_, index): TransactionParts => {
    const txid = (index + 1).toString(16).padStart(64, '5');
    const data =
      index % 50 === 0 ? encodePayload(txid, `SEND|0|T|${index}`, { magic: MAGIC }) : Buffer.alloc(40, index);
    const marked = index % 4 === 0 ? [{ amount: 0n, script: returnScript(data) }] : [];
    return {
      inputs: [{ txid, vout: 0, script: Buffer.alloc(0) }],
      outputs: [...marked, { amount: 5_000n, script: key(index) }],
      witnesses: [[Buffer.alloc(71), Buffer.alloc(33, 2)]]
    };
  });
  const { bytes, hash } = writeBlock({ previousHash: '', time: 1, transactions });
  const scan = () => scanBlock(bytes, { height: 1, hash }, RULES);
  for (let run = 0; run < 50; run++) scan();
  const micros = Array.from({ length: 101 }, () => {
    const began = process.cpuUsage();
    scan();
    const { user, system } = process.cpuUsage(began);
    return (user + system) / transactions.length;
  });
  figures.push({
    what: 'CPU of one transaction, against 5 µs',
    measured: median(micros),
    reference: 5,
    unit: 'µs',
    compare: 'times',
    most: 1,
    aim: 0.6
  });
});

test(`catch-up of ${emptyBlocks} empty blocks`, async () => {
  const node = await startNode();
  for (let mined = 0; mined < emptyBlocks; mined += 100) await node.mine(100);
  const { measured, reference } = await alternate(
    runs,
    async () => (await catchUp(node)).ms,
    () => fetchAndDrop(node, 50)
  );
  const shape = { unit: 'ms', compare: 'times' } as const;
  figures.push(
    {
      what: `${emptyBlocks} empty blocks, against 2,000/s`,
      measured,
      reference: emptyBlocks / 2,
      ...shape,
      most: 1,
      aim: 0.33
    },
    {
      what: `${emptyBlocks} empty blocks, against fetching and dropping`,
      measured,
      reference,
      ...shape,
      most: 10,
      aim: 3
    }
  );
});

test('full blocks: catch-up, and one at the tip', async () => {
  const node = await startNode();
  await node.fund(2 * PER_BLOCK);
  await fill(node, fullBlocks);
  const found: CatchUp[] = [];
  const { measured, reference } = await alternate(
    runs,
    async () => {
      found.push(await catchUp(node));
      return found.at(-1)!.ms;
    },
    () => fetchAndDrop(node, 1)
  );
  figures.push({
    what: `CPU of the catch-up of ${fullBlocks} full blocks, against that of the node meanwhile`,
    unit: 'ms',
    measured: median(found.map((each) => each.cpuMs)),
    reference: median(found.map((each) => each.nodeCpuMs)),
    compare: 'times',
    most: 1,
    aim: 0.7
  });
  figures.push({
    what: `memory of the catch-up of ${fullBlocks} full blocks, over idle`,
    unit: 'MB',
    compare: 'above',
    measured: Math.max(...found.map(({ growthMb }) => growthMb)),
    reference: 0,
    most: 150,
    aim: 64
  });
  const what = `catch-up of ${fullBlocks} full blocks, against fetching and dropping`;
  figures.push({ what, measured, reference, unit: 'ms', compare: 'times', most: 1 / 0.6, aim: 1 / 0.75 });

  const decoder = await startDecoder(node);
  await decoder.reach(await node.height());
  await sleep(1_500);
  const delays: number[] = [];
  for (let run = 0; run < 2 * runs + 1; run++) {
    await fill(node, 1);
    const height = await node.height();
    const began = performance.now();
    await decoder.reach(height);
    delays.push(performance.now() - began);
  }
  const [{ count } = {}] = await query(decoder.database, 'SELECT COUNT(*) AS count FROM blocks');
  if (Number(count) !== (await node.height()) + 1) throw new Error('blocks are missing');
  await decoder.stop();
  figures.push({
    what: 'full block at the tip, from the end of mining to its commit',
    measured: median(delays),
    reference: 0,
    unit: 'ms',
    compare: 'above',
    most: 300,
    aim: 150
  });
});

test(`${watched} watched dispensers`, async () => {
  figures.push(...(await watchedDispensers(watched)));
});

const OUTPUTS = 2_500;
const PER_BLOCK = 12;

/** Payments of a transaction, its fee included. */
const COST = 10_000_000n;

/** Mines blocks of some 0.9 MB: twelve transactions with 2,500 outputs. */
async function fill(node: PrivateLitecoind, blocks: number): Promise<void> {
  const { rpc } = node;
  const addresses = Array.from({ length: OUTPUTS }, (_, index) => {
    const script = Buffer.alloc(22, 7);
    script.set([0, 20]);
    script.writeUInt32LE(index, 4);
    return addressOf(script, NETWORK.addresses)!;
  });
  const paid = addresses.map((address) => ({ [address]: '0.00003000' }));
  const change = await node.newAddress();
  for (let block = 0; block < blocks; block++) {
    const coins = (await rpc.call('listunspent', [1])) as { txid: string; vout: number; amount: string }[];
    const large = coins.filter(({ amount }) => toBaseUnits(amount) > 2n * COST);
    for (const { txid, vout, amount } of large.slice(0, PER_BLOCK)) {
      const outputs = [...paid, { [change]: toDecimal(toBaseUnits(amount) - COST) }];
      const raw = await rpc.call('createrawtransaction', [[{ txid, vout }], outputs]);
      const { hex } = (await rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
      await rpc.call('sendrawtransaction', [hex]);
    }
    await node.mine(1);
  }
}
