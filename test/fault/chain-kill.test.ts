import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toBaseUnits } from '../../src/coin/amount.ts';
import { chainNetwork } from '../../src/coin/chains.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { addressOf } from '../../src/coin/script/address.ts';
import { payTo } from '../../src/coin/script/pay-scripts.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { createRandom } from '../../src/devnet/random.ts';
import { readChanges } from '../../src/tracker/coins/changes.ts';
import { MADE, places, SPENT } from '../../src/tracker/coins/records.ts';
import { reduceChanges } from '../../src/tracker/coins/reduce.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { query, startLoop } from '../support/decoder/loop.ts';
import { assertPrefix, type DecoderRows, rowsOf } from '../support/decoder/rows.ts';
import { startTestLitecoind, type TestLitecoind } from '../support/litecoin.ts';
import { createDatabase } from '../support/mariadb.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../support/service-process.ts';

/** DECODER_KILLS=50 TRACKER_KILLS=50 scripts/test.sh test/fault/chain-kill.test.ts */
const DECODER_KILLS = Number(process.env['DECODER_KILLS'] ?? 4);
const TRACKER_KILLS = Number(process.env['TRACKER_KILLS'] ?? 4);
const SEED = process.env['PROPERTY_SEED'] ?? '1';
const BLOCKS = 1_500;
const PER_STEP = 100;
const NETWORK = chainNetwork('litecoin', 'regtest');
/** Outside of the wallet, which would become slow. */
const MINER = addressOf(payTo({ kind: 'keyHash', bytes: new Uint8Array(20) }), NETWORK.addresses)!;
let coin: TestLitecoind;
let reference: DecoderRows;
let height: number;

before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(40);
  const till = await coin.node.newAddress();
  for (let mined = 0; mined < BLOCKS; mined += PER_STEP) {
    await coin.node.pay({ action: `SEND|0|T|${mined}` });
    if (mined % 500 === 0) {
      await coin.node.pay({ action: `DISPENSER|0|${NETWORK.ticker}|T|1|0|10|${NETWORK.ticker}||5|${till}` });
    }
    await coin.node.rpc.call('sendtoaddress', [till, 0.02]);
    await coin.node.mine(PER_STEP, MINER);
  }
  height = await coin.node.height();
  const fresh = await createDatabase('killed_reference');
  const magic = DEFAULT_PROFILE.payloadMagic;
  const loop = startLoop({ database: fresh, node: coin.node, network: NETWORK, magic });
  await loop.reach(height, await coin.node.rpc.call('getbestblockhash'));
  await loop.stop();
  reference = await rowsOf(fresh);
});
/** Starts a service that writes the chain into a database. */
async function startWriter(service: 'decoder' | 'utxo', database: DatabaseCoordinates) {
  const prefix = service === 'decoder' ? 'DECODER' : 'UTXO_TRACKER';
  const { child, exited } = startServiceProcess(service, {
    ...nodeEnv(coin.node),
    ...databaseEnv(service.toUpperCase(), database),
    [`${prefix}_API_HOST`]: '127.0.0.1',
    [`${prefix}_API_PORT`]: String(await freePort())
  });
  return {
    /** Waits until blocks are being written above a height. */
    async writesAbove(stored: number, progressOf = storedHeight): Promise<void> {
      for (const end = Date.now() + PATIENCE_MS; (await progressOf(database)) <= stored; await sleep(25)) {
        assert.ok(Date.now() < end && child.exitCode === null, `nothing is written above block ${stored}`);
      }
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL');
      await exited;
    }
  };
}

/** Kills a service so many times while it catches up, on one database after the other; each ends at the tip. */
async function killAgain(
  service: 'decoder' | 'utxo',
  times: number,
  check: (database: DatabaseCoordinates, stored: number) => Promise<void>
): Promise<void> {
  const random = createRandom(SEED);
  for (let kills = 0; kills < times; ) {
    const database = await createDatabase('killed');
    for (let stored = -1; stored < height; stored = await storedHeight(database)) {
      const before = await stepsDone(database);
      const writer = await startWriter(service, database);
      await writer.writesAbove(before, stepsDone);
      const isLast = kills === times;
      if (isLast) await writer.writesAbove(height - 1);
      else await sleep(random.between(0, 500));
      await writer.kill();
      if (isLast) break;
      kills += 1;
      await check(database, await storedHeight(database));
    }
    await check(database, height);
  }
}

/** -1 while there is none. */
async function storedHeight(database: DatabaseCoordinates): Promise<number> {
  const found = await query(database, 'SELECT MAX(block_index) AS height FROM blocks').catch(() => []);
  return Number(found[0]?.['height'] ?? -1);
}

test(`${DECODER_KILLS} times killed while it catches up, a decoder holds whole blocks and ends as a fresh one`, async () => {
  await killAgain('decoder', DECODER_KILLS, async (database, stored) => {
    await assertPrefix(database, reference, stored);
    if (stored === height) assert.deepEqual(await rowsOf(database), reference);
  });
});

/** Blocks that are written, and steps of a first sync behind them. */
async function stepsDone(database: DatabaseCoordinates): Promise<number> {
  const found = await query(database, 'SELECT COALESCE(SUM(loaded), 0) AS loaded FROM first_sync').catch(() => []);
  return (await storedHeight(database)) + Number(found[0]?.['loaded'] ?? 0);
}

/** By height, how many outputs nobody has spent and what they are worth, counted from the raw blocks. */
async function countUnspent(): Promise<readonly { readonly count: number; readonly value: string }[]> {
  const coins = new Map<string, bigint>();
  let value = 0n;
  const found: { count: number; value: string }[] = [];
  for (let at = 0; at <= height; at++) {
    const hash = String(await coin.node.rpc.call('getblockhash', [at]));
    const bytes = Buffer.from(String(await coin.node.rpc.call('getblock', [hash, 0])), 'hex');
    const { made, spent } = readChanges(bytes, { height: at, hash, isMergeMined: false, coinbaseMaturity: 100 });
    for (const place of places(MADE, made)) {
      const amount = made.readBigUInt64LE(place + MADE.valueAt);
      coins.set(made.toString('hex', place, place + MADE.key), amount);
      value += amount;
    }
    for (const place of places(SPENT, spent)) {
      const outpoint = spent.toString('hex', place, place + SPENT.key);
      value -= coins.get(outpoint)!;
      coins.delete(outpoint);
    }
    found.push({ count: coins.size, value: String(value) });
  }
  return found;
}

/** The coins that a tracker's database has, or that its first sync would make of what it has gathered. */
async function countStored(database: DatabaseCoordinates) {
  const sql = 'SELECT COUNT(*) AS count, CAST(COALESCE(SUM(value), 0) AS CHAR) AS value FROM coins';
  const [own] = await query(database, sql).catch(() => []);
  const [sync] = await query(database, 'SELECT loaded FROM first_sync').catch(() => []);
  const left = sync
    ? await query(database, `SELECT * FROM first_sync_spool WHERE shard >= ${sync['loaded']}`).catch(() => [])
    : [];
  const bytes = (name: 'made' | 'spent' | 'scripts') => Buffer.concat(left.map((row) => row[name] as Buffer));
  const { made, spent } = reduceChanges({ made: bytes('made'), spent: bytes('spent'), scripts: bytes('scripts') });
  assert.equal(spent.length, 0);
  const gathered = Array.from(places(MADE, made), (at) => made.readBigUInt64LE(at + MADE.valueAt));
  return {
    phase: !sync ? 'block by block' : Number(sync['loaded']) > 0 ? 'loading' : 'gathering',
    count: Number(own?.['count'] ?? 0) + gathered.length,
    value: String(gathered.reduce((sum, value) => sum + value, BigInt(String(own?.['value'] ?? 0))))
  };
}

test(`${TRACKER_KILLS} times killed while it catches up, a tracker holds whole blocks and ends as the node`, async () => {
  const unspent = await countUnspent();
  const { txouts, total_amount } = (await coin.node.rpc.call('gettxoutsetinfo')) as Record<string, string>;
  assert.deepEqual(unspent.at(-1), { count: Number(txouts), value: String(toBaseUnits(String(total_amount))) });
  const seen = new Set<string>();
  await killAgain('utxo', TRACKER_KILLS, async (database, stored) => {
    const { phase, ...own } = await countStored(database);
    seen.add(phase);
    assert.deepEqual(own, stored < 0 ? { count: 0, value: '0' } : unspent[stored], `block ${stored}`);
  });
  const phases = ['gathering', 'loading', 'block by block'];
  const missed = phases.filter((phase) => !seen.has(phase));
  assert.ok(TRACKER_KILLS < 50 || missed.length === 0, `never killed while ${missed.join()}`);
});
