import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBase58check } from '@scure/base';
import { connect, rows } from '../../../src/db/connection.ts';
import { type PrivateLitecoind, startLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { signPsbt } from '../../../test/support/encoder/signer.ts';
import type { Attack } from '../attack.ts';

const ACTIVATION = 432;
/** Blocks until a coin that came out of the extension block may be spent. */
const RIPE = 7;
const LOOK_MS = 200;
const DEADLINE_MS = 60_000;
const DATABASES = { DECODER_DB_NAME: 'Decoder_Of_Extension', UTXO_DB_NAME: 'Tracker_Of_Extension' };

const base58check = createBase58check((bytes: Uint8Array) => hash('sha256', bytes, 'buffer'));

/** A node on which the extension block has begun, and an address in it. */
async function startExtension(directory: string) {
  const node = await startLitecoind(directory, { hasExtensionBlock: true });
  const call = (method: string, ...params: unknown[]) => node.rpc.call(method, params);
  await node.mine(ACTIVATION - 1);
  const hidden = String(await call('getnewaddress', '', 'mweb'));
  await call('sendtoaddress', hidden, 20);
  await node.mine(1);
  return { node, hidden };
}

/** Pays from coins of the extension block alone: the wallet's others are locked meanwhile. */
async function payOut({ rpc }: PrivateLitecoind, address: string, amount: number): Promise<void> {
  const coins = (await rpc.call('listunspent', [0])) as readonly { readonly txid: string; readonly vout?: number }[];
  const places = coins.flatMap(({ txid, vout }) => (vout === undefined ? [] : [{ txid, vout: Number(vout) }]));
  await rpc.call('lockunspent', [false, places]);
  await rpc.call('sendtoaddress', [address, amount]);
  await rpc.call('lockunspent', [true]);
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + DEADLINE_MS; !(await isSo()); await sleep(LOOK_MS))
    if (Date.now() > end) throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
}

interface Created {
  readonly result?: { readonly psbt: string };
}

interface Told {
  readonly result?: { readonly sync: { readonly tracker_height: number; readonly mempool_skipped: number } };
}

/** Litecoin's extension block, on a node of its own. */
export const EXTENSION_ATTACKS: readonly Attack[] = [
  {
    name: 'coins of the extension block cannot be spent, and what waits within it hides the mempool',
    async *play(arena) {
      const { beside } = arena;
      const { node, hidden } = await startExtension(join(beside.directory, 'extension'));
      const database = await connect(arena.database);
      try {
        const { user, password } = node;
        const order = {
          name: 'extension',
          node: { host: '127.0.0.1', port: node.rpcPort, user, password },
          variables: DATABASES
        };
        const decoder = await beside.start('decoder', order);
        const tracker = await beside.start('tracker', order);
        const variables = { ...DATABASES, UTXO_TRACKER_URL: tracker.url };
        const encoder = await beside.start('encoder', { ...order, variables });
        yield;
        const address = String(await node.rpc.call('getnewaddress', ['', 'legacy']));
        const key = base58check.decode(String(await node.rpc.call('dumpprivkey', [address]))).subarray(1, 33);
        await payOut(node, address, 0.5);
        await node.mine(RIPE);
        const described = async () =>
          (JSON.parse((await arena.call(tracker.url, 'get_info', { address })).body) as Told).result?.sync;
        const height = await node.height();
        await until('its tracker has all blocks', async () => (await described())?.tracker_height === height);
        const action = 'BROADCAST|0|a coin of the extension block';
        const { body } = await arena.call(encoder.url, 'create_tx', { pubkey: address, data: action });
        const { result } = JSON.parse(body) as Created;
        assert.ok(result, body.slice(0, 300));
        await node.rpc.call('sendrawtransaction', [signPsbt(result.psbt, key)]);
        await node.mine(1);
        yield;
        const isStored = async (table: string, text: string) =>
          (await rows(database, `SELECT 1 FROM ${DATABASES.DECODER_DB_NAME}.${table} WHERE data = ?`, [text])).length >
          0;
        await until('its action is decoded', () => isStored('transactions', action));
        // It waits under the hash of its kernel, which no question by an id answers.
        await payOut(node, hidden, 0.1);
        const beneath = (await node.pay({ action: 'BROADCAST|0|beside it' })).action;
        await until('what waits beside it is read', () => isStored('mempool_transactions', beneath));
        await until('a tracker skips and counts it', async () => (await described())?.mempool_skipped === 1);
        for (const each of [encoder, tracker, decoder]) await each.stop();
      } finally {
        database.destroy();
        await node.stop();
      }
      return () => Promise.resolve();
    }
  }
];
