import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toBaseUnits } from '../../src/coin/amount.ts';
import { chainNetwork } from '../../src/coin/chains.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { addressOf } from '../../src/coin/script/address.ts';
import { payTo } from '../../src/coin/script/pay-scripts.ts';
import { freePort } from '../../src/devnet/free-port.ts';
import { createRandom } from '../../src/devnet/random.ts';
import { madeCoins, readChanges, spentOutpoints } from '../../src/tracker/changes.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { query, startLoop } from '../support/decoder/loop.ts';
import { assertPrefix, type DecoderRows, rowsOf } from '../support/decoder/rows.ts';
import { startTestLitecoind, type TestLitecoind } from '../support/litecoin.ts';
import { createDatabase } from '../support/mariadb.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../support/service-process.ts';

const DECODER_KILLS = 50;
/** TRACKER_KILLS=50 scripts/test.sh test/fault/chain-kill.test.ts */
const TRACKER_KILLS = Number(process.env['TRACKER_KILLS'] ?? 6);
const SEED = process.env['PROPERTY_SEED'] ?? '1';
const BLOCKS = 2_500;
const PER_STEP = 100;
const DEADLINE_MS = 30_000;
/** As the command line has it: fifty starts compile the program once. */
const COMPILED = new URL('../../dist/compile-cache', import.meta.url).pathname;
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
async function startWriter(service: 'decoder' | 'tracker', database: DatabaseCoordinates) {
  const prefix = service === 'decoder' ? 'DECODER' : 'UTXO_TRACKER';
  const { child, exited } = startServiceProcess(service, {
    NODE_COMPILE_CACHE: COMPILED,
    ...nodeEnv(coin.node),
    ...databaseEnv(prefix, database),
    [`${prefix}_API_HOST`]: '127.0.0.1',
    [`${prefix}_API_PORT`]: String(await freePort())
  });
  return {
    /** Waits until blocks are being written above a height. */
    async writesAbove(stored: number): Promise<void> {
      for (const end = Date.now() + DEADLINE_MS; (await storedHeight(database)) <= stored; await sleep(25)) {
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
  service: 'decoder' | 'tracker',
  times: number,
  check: (database: DatabaseCoordinates, stored: number) => Promise<void>
): Promise<void> {
  const random = createRandom(SEED);
  for (let kills = 0; kills < times; ) {
    const database = await createDatabase('killed');
    for (let stored = -1; stored < height; stored = await storedHeight(database)) {
      const writer = await startWriter(service, database);
      await writer.writesAbove(stored);
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

test(`SVC-02: ${DECODER_KILLS} times killed while it catches up, a decoder holds whole blocks and ends as a fresh one`, async () => {
  await killAgain('decoder', DECODER_KILLS, async (database, stored) => {
    await assertPrefix(database, reference, stored);
    if (stored === height) assert.deepEqual(await rowsOf(database), reference);
  });
});

/** By height, how many outputs nobody has spent and what they are worth, counted from the raw blocks. */
async function countUnspent(): Promise<readonly { readonly count: number; readonly value: string }[]> {
  const coins = new Map<string, bigint>();
  let value = 0n;
  const found: { count: number; value: string }[] = [];
  for (let at = 0; at <= height; at++) {
    const hash = String(await coin.node.rpc.call('getblockhash', [at]));
    const bytes = Buffer.from(String(await coin.node.rpc.call('getblock', [hash, 0])), 'hex');
    const changes = readChanges(bytes, { height: at, hash, isMergeMined: false });
    for (const made of madeCoins(changes)) {
      coins.set(made.outpoint.toString('hex'), made.value);
      value += made.value;
    }
    for (const outpoint of spentOutpoints(changes)) {
      value -= coins.get(outpoint.toString('hex'))!;
      coins.delete(outpoint.toString('hex'));
    }
    found.push({ count: coins.size, value: String(value) });
  }
  return found;
}

test(`SVC-21: ${TRACKER_KILLS} times killed while it catches up, a tracker holds whole blocks and ends as the node`, async () => {
  const unspent = await countUnspent();
  const { txouts, total_amount } = (await coin.node.rpc.call('gettxoutsetinfo')) as Record<string, string>;
  assert.deepEqual(unspent.at(-1), { count: Number(txouts), value: String(toBaseUnits(String(total_amount))) });
  await killAgain('tracker', TRACKER_KILLS, async (database, stored) => {
    const sql = 'SELECT COUNT(*) AS count, CAST(COALESCE(SUM(value), 0) AS CHAR) AS value FROM coins';
    const [own] = await query(database, sql);
    assert.deepEqual({ count: Number(own?.['count']), value: own?.['value'] }, unspent[stored], `block ${stored}`);
  });
});
