import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { addressOf } from '../../src/coin/address.ts';
import { chainNetwork } from '../../src/coin/chains.ts';
import { payTo } from '../../src/coin/pay-scripts.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { freePort } from '../../src/devnet/free-port.ts';
import { createRandom } from '../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { query, startLoop } from '../support/decoder/loop.ts';
import { assertPrefix, type DecoderRows, rowsOf } from '../support/decoder/rows.ts';
import { startTestLitecoind, type TestLitecoind } from '../support/litecoin.ts';
import { createDatabase } from '../support/mariadb.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../support/service-process.ts';

const KILLS = 50;
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
async function startDecoder(database: DatabaseCoordinates) {
  const { child, exited } = startServiceProcess('decoder', {
    NODE_COMPILE_CACHE: COMPILED,
    ...nodeEnv(coin.node),
    ...databaseEnv('DECODER', database),
    DECODER_API_HOST: '127.0.0.1',
    DECODER_API_PORT: String(await freePort())
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

/** -1 while there is none. */
async function storedHeight(database: DatabaseCoordinates): Promise<number> {
  const found = await query(database, 'SELECT MAX(block_index) AS height FROM blocks').catch(() => []);
  return Number(found[0]?.['height'] ?? -1);
}

test(`SVC-02: ${KILLS} times killed while it catches up, a decoder holds whole blocks and ends as a fresh one`, async (t) => {
  const random = createRandom(SEED);
  for (let kills = 0; kills < KILLS; ) {
    const database = await createDatabase('killed');
    for (let stored = -1; stored < height; stored = await storedHeight(database)) {
      const decoder = await startDecoder(database);
      await decoder.writesAbove(stored);
      const isLast = kills === KILLS;
      if (isLast) await decoder.writesAbove(height - 1);
      else await sleep(random.between(0, 500));
      await decoder.kill();
      if (isLast) break;
      kills += 1;
      await assertPrefix(database, reference, await storedHeight(database));
      t.diagnostic(`killed at block ${await storedHeight(database)} of ${height}`);
    }
    assert.deepEqual(await rowsOf(database), reference);
  }
});
