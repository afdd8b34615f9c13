import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { writeBase } from '../../src/coin/raw/transaction-form.ts';
import { connect, rows, type SqlRow } from '../../src/db/connection.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { databaseOn } from '../../src/devnet/settings.ts';
import type { ProbeAddress } from '../../src/service/life/probe.ts';
import type { DbType } from '../../src/wire/data/database.ts';
import type { Beside } from './beside.ts';
import { Person } from './person.ts';

/** Addresses of the services that an attack talks to. */
interface Doors {
  readonly explorer: string;
  readonly hub: string;
  readonly tracker: string;
  readonly encoder: string;
  readonly indexer: ProbeAddress;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** A token as the explorer tells it. */
interface Token {
  readonly info: { readonly tick_id: number; readonly owner: string };
  readonly supply: { readonly supply: string };
}

/** Each coin of a person, in satoshis. */
const COIN = 50_000_000n;

interface ArenaParts {
  readonly rpc: NodeRpc;
  readonly doors: Doors;
  readonly replaced: () => Promise<number>;
  readonly beside: Beside;
  readonly database: Platform['database'];
}

/**
 * The devnet as an attacker sees it: a node to send transactions to, and the doors of the services. And as the judge of an attack sees
 * it: rows of the databases, and services with settings of their own.
 */
export class Arena {
  readonly rpc: NodeRpc;
  readonly doors: Doors;
  /** Blocks that the decoder has replaced so far. */
  readonly replaced: () => Promise<number>;
  readonly beside: Beside;
  readonly database: Platform['database'];
  /** Ids of transactions that say something in another's name, and in the name of who signed and paid them. */
  readonly payloadIds: { readonly forged: string[]; readonly own: string[] } = { forged: [], own: [] };
  #clock = 0;

  constructor({ rpc, doors, replaced, beside, database }: ArenaParts) {
    this.rpc = rpc;
    this.doors = doors;
    this.replaced = replaced;
    this.beside = beside;
    this.database = database;
  }

  /** Somebody with coins of 0.5 LTC at an address of its own. They can be spent at once. */
  async person(name: string, coins = 3): Promise<Person> {
    const person = new Person(this.rpc, name);
    const outputs = Array.from({ length: coins }, () => ({ amount: COIN, script: person.script }));
    const raw = writeBase({ inputs: [], outputs }).toString('hex');
    const { hex } = (await this.rpc.call('fundrawtransaction', [raw, { changePosition: coins }, false])) as {
      hex: string;
    };
    const signed = (await this.rpc.call('signrawtransactionwithwallet', [hex])) as { hex: string };
    const txid = String(await this.rpc.call('sendrawtransaction', [signed.hex]));
    for (let vout = 0; vout < coins; vout++) person.own({ txid, vout, amount: COIN });
    return person;
  }

  async people(...names: readonly string[]): Promise<readonly Person[]> {
    const people: Person[] = [];
    for (const name of names) people.push(await this.person(name));
    return people;
  }

  async height(): Promise<number> {
    return Number(await this.rpc.call('getblockcount'));
  }

  /** Seconds since 1970 of the newest block. */
  async time(): Promise<number> {
    const header = (await this.rpc.call('getblockheader', [await this.rpc.call('getbestblockhash')])) as {
      time: number;
    };
    return Number(header.time);
  }

  /** The times of the block that has a transaction, in seconds since 1970: its own and the median. */
  async blockOf(txid: string): Promise<{ readonly time: number; readonly mediantime: number }> {
    const { blockhash } = (await this.rpc.call('getrawtransaction', [txid, true])) as { blockhash: string };
    const header = (await this.rpc.call('getblockheader', [blockhash])) as { time: unknown; mediantime: unknown };
    return { time: Number(header.time), mediantime: Number(header.mediantime) };
  }

  /** Sets the clock of the node, never back: blocks that follow are of that time, in seconds since 1970. */
  async later(time: number): Promise<void> {
    this.#clock = Math.max(this.#clock, time);
    await this.rpc.call('setmocktime', [this.#clock]);
  }

  /** Statuses of a transaction's actions, in their order; empty: the ledger has none of them. */
  async statuses(txid: string): Promise<readonly string[]> {
    const transaction = await this.#ask<{ readonly actions: readonly { readonly action_index: string }[] }>(
      `transaction/${txid}/tx_hash`
    );
    const statuses: string[] = [];
    for (const { action_index } of transaction?.actions ?? [])
      statuses.push(
        ...((await this.#ask<{ readonly statuses: readonly string[] }>(`action/${action_index}`))?.statuses ?? [])
      );
    return statuses;
  }

  /** The index of a transaction's first action. @throws {Error} when the ledger has none */
  async actionIndex(txid: string): Promise<string> {
    const transaction = await this.#ask<{ readonly actions: readonly { readonly action_index: string }[] }>(
      `transaction/${txid}/tx_hash`
    );
    const [first] = transaction?.actions ?? [];
    if (!first) throw new Error(`the ledger has no action of ${txid}`);
    return first.action_index;
  }

  /** Returns an address's balance of a token, a decimal. */
  async balance(address: string, tick: string): Promise<string> {
    type Row = { readonly tick: string; readonly amount: string };
    const rows = (await this.#ask<{ readonly data: readonly Row[] }>(`balances/${address}`))?.data ?? [];
    return rows.find((row) => row.tick === tick)?.amount ?? '0';
  }

  /** @returns undefined where nobody issued it */
  async token(tick: string): Promise<Token | undefined> {
    return await this.#ask<Token>(`token/${encodeURIComponent(tick)}`);
  }

  async supply(tick: string): Promise<string | undefined> {
    return (await this.token(tick))?.supply.supply;
  }

  /** A JSON-RPC call without a key, as a stranger makes it. @param from  the caller's address, one of 127.0.0.0/8 */
  async call(door: string, method: string, params: object, from = '127.0.0.1'): Promise<Answer> {
    const answered = Promise.withResolvers<Answer>();
    request(
      door,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        localAddress: from,
        signal: AbortSignal.timeout(30_000)
      },
      (response) => {
        const whole = (body: string) => answered.resolve({ status: response.statusCode ?? 0, body });
        text(response).then(whole, answered.reject);
      }
    )
      .on('error', answered.reject)
      .end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return await answered.promise;
  }

  /** Returns the explorer's answer to a path below `/api/`. */
  async get(path: string): Promise<Answer> {
    const response = await fetch(`${this.doors.explorer}/api/${path}`, { signal: AbortSignal.timeout(10_000) });
    return { status: response.status, body: await response.text() };
  }

  /** Rows of the decoder's or the indexer's database. */
  async rows<T extends SqlRow>(dbType: DbType, sql: string, values: readonly string[] = []): Promise<T[]> {
    const connection = await connect(databaseOn(this.database, dbType));
    try {
      return await rows<T>(connection, sql, values);
    } finally {
      connection.destroy();
    }
  }

  /** Returns an address's balance of a token after a past block, a decimal. */
  async pastBalance(address: string, tick: string, height: number): Promise<string> {
    type Row = { readonly tick: string; readonly amount: string };
    const rows = (await this.#ask<{ readonly data: readonly Row[] }>(`balances/${address}?height=${height}`))?.data;
    return rows?.find((row) => row.tick === tick)?.amount ?? '0';
  }

  /** @returns undefined for what the explorer does not have */
  async #ask<T>(path: string): Promise<T | undefined> {
    const { status, body } = await this.get(path);
    if (status === 200) return JSON.parse(body) as T;
    if (status === 404) return undefined;
    throw new Error(`the explorer answered ${status} to ${path}: ${body}`);
  }
}
