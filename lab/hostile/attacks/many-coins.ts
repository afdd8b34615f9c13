import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { OP_1 } from '../../../src/coin/script/script.ts';
import { connect } from '../../../src/db/connection.ts';
import { DEVNET } from '../../../src/devnet/settings.ts';
import type { Arena } from '../arena.ts';
import type { Attack } from '../attack.ts';

/** A script that anybody may spend from: no signature is needed. */
const OPEN = Buffer.from([OP_1]);
const SCRIPT = payToScript(OPEN, 'p2wsh');
const ADDRESS = addressOf(SCRIPT, DEVNET.addresses)!;
/** Satoshis. */
const COIN = 5_000n;
const COINS = 2_200;
/** As many as make a statement of more than four million bytes, at 77 for each coin that is spent. */
const TRANSACTIONS = 25;
/** The least that services ask of a server. */
const SMALL_PACKET = 4 * 2 ** 20;
const USUAL_PACKET = 16 * 2 ** 20;
/** Blocks that have all of them, whatever else is in them. */
const BLOCKS = 6;
const CROWD = 6;
const CALLS = 50;
const PAGE = 10_000;
const LOOK_MS = 250;
const DEADLINE_MS = 60_000;
const PATIENCE_MS = 5_000;
/** Bytes by which a tracker may grow while nobody reads what it answers. */
const MOST_GROWTH = 300 * 2 ** 20;

interface Info {
  readonly result?: {
    readonly mempool_ready: boolean;
    readonly balances: { readonly confirmed: string; readonly pending: string };
    readonly utxos: { readonly confirmed: number };
  };
}

/** Bytes of memory that a process has used at most. */
function peakOf(pid: number): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

async function infoOf(arena: Arena, tracker: string): Promise<NonNullable<Info['result']> | undefined> {
  const { body } = await arena.call(tracker, 'get_info', { address: ADDRESS });
  return (JSON.parse(body) as Info).result;
}

async function waitFor(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const until = Date.now() + DEADLINE_MS; !(await isSo()); await sleep(LOOK_MS))
    if (Date.now() > until) throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
}

/** A batch of questions whose answers are not read. @returns ends it */
function askAndLeave(tracker: string): () => void {
  const call = { jsonrpc: '2.0', id: 1, method: 'get_utxos', params: { address: ADDRESS, limit: PAGE } };
  const asking = request(tracker, { method: 'POST', headers: { 'content-type': 'application/json' } }, (response) =>
    response.pause()
  );
  asking.on('error', () => undefined).end(JSON.stringify(Array.from({ length: CALLS }, () => call)));
  return () => void asking.destroy();
}

/** An address with very many coins. */
export const MANY_COINS_ATTACKS: readonly Attack[] = [
  {
    name: 'an address with very many coins silences a tracker: by questions, or as they are spent together',
    async *play(arena) {
      const server = await connect(arena.database);
      await server.query(`SET GLOBAL max_allowed_packet = ${SMALL_PACKET}`);
      const tracker = await arena.beside.start('tracker', {
        name: 'many-coins',
        variables: { UTXO_DB_NAME: 'Tracker_Of_Many_Coins' }
      });
      try {
        const payer = await arena.person('makes many coins', TRANSACTIONS);
        const neighbour = await arena.person('tracker neighbour', 1);
        yield;
        yield;
        const outputs = Array.from({ length: COINS }, () => ({ amount: COIN, script: SCRIPT }));
        const made: string[] = [];
        for (let sent = 0; sent < TRANSACTIONS; sent++) made.push(await payer.pay(outputs));
        for (let block = 0; block < BLOCKS; block++) yield;
        const all = COINS * TRANSACTIONS;
        await waitFor(
          'a tracker has all coins',
          async () => (await infoOf(arena, tracker.url))?.utxos.confirmed === all
        );
        const before = peakOf(tracker.pid);
        const leave = Array.from({ length: CROWD }, () => askAndLeave(tracker.url));
        await sleep(2_000);
        const askedAt = performance.now();
        const own = await arena.call(tracker.url, 'get_utxos', { address: neighbour.address });
        const took = performance.now() - askedAt;
        const grown = peakOf(tracker.pid) - before;
        for (const each of leave) each();
        const unlock = { script: Buffer.alloc(0), witness: [OPEN] };
        for (const txid of made) {
          const inputs = outputs.map((_, vout) => ({ txid, vout, sequence: 0xffffffff, unlock }));
          const hex = writeTransaction({
            inputs,
            outputs: [{ amount: (COIN * BigInt(COINS)) / 2n, script: payer.script }]
          });
          await arena.rpc.call('sendrawtransaction', [hex.toString('hex')]);
        }
        let last: Info['result'];
        const isSpent = async () => {
          last = await infoOf(arena, tracker.url);
          return last?.mempool_ready === true && Number(last.balances.confirmed) + Number(last.balances.pending) === 0;
        };
        const spent = await waitFor('a tracker knows all that is spent', isSpent).then(
          () => 'known',
          (caught: Error) => `${caught.message}: ${JSON.stringify(last)}`
        );
        for (let block = 0; block < BLOCKS; block++) yield;
        return () => {
          assert.equal(own.status, 200, own.body.slice(0, 200));
          assert.ok(took < PATIENCE_MS, `its neighbour waits for ${took} ms`);
          assert.ok(grown < MOST_GROWTH, `a tracker grows by ${grown} bytes`);
          assert.equal(spent, 'known');
          return Promise.resolve();
        };
      } finally {
        await tracker.stop();
        await server.query(`SET GLOBAL max_allowed_packet = ${USUAL_PACKET}`);
        server.destroy();
      }
    }
  }
];
