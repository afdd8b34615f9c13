import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../lab/reference/random.ts';
import type { BlockRows, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { NO_DISPENSERS, type OpenedDispenser } from '../../../src/decoder/dispensers/action.ts';
import { type Dispenser, KEPT_BLOCKS } from '../../../src/decoder/dispensers/run.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { DispenserModel } from '../../support/decoder/dispenser-model.ts';
import { query } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

const BLOCKS = 400;
const LIMIT_FROM = 20;
const MOST_UNDONE = 60;
const NAMES = ['owner', 'till', 'exchange', 'buyer', 'stranger'];

/** Blocks with openings, edits and payments, more than a decoder keeps, at times that leap and fall back. */
class Chain {
  readonly #random: Random;
  readonly #blocks: BlockRows[] = [];
  #made = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  get length(): number {
    return this.#blocks.length;
  }

  /** Adds blocks, and returns them. */
  grow(count: number): readonly BlockRows[] {
    for (let left = count; left > 0; left--) this.#blocks.push(this.#block(this.length));
    return this.#blocks.slice(-count);
  }

  /** Leaves the newest block: another one takes its place. */
  cut(): void {
    this.#blocks.pop();
  }

  #block(height: number): BlockRows {
    const name = `${height}.${this.#made++}`;
    const last = this.#blocks.at(-1);
    const leap = this.#random.below(25) === 0 ? this.#random.below(20_000) : 0;
    const time = Math.max(0, (last?.time ?? 100_000) + this.#random.below(900) - 200 + leap);
    const count = this.#random.below(3) === 0 ? 0 : this.#random.below(4);
    const transactions = Array.from({ length: count }, (_, at) => this.#transaction(`${name}/${at}`, time));
    return { height, time, hash: name, previousHash: last?.hash ?? '', findings: [], transactions };
  }

  #transaction(hash: string, now: number): TransactionRow {
    const common = { hash, source: this.#one(NAMES), rawData: null, pubkey: null };
    const time = now + this.#random.below(40_000) - 5_000;
    const kind = this.#random.below(10);
    if (kind < 3) {
      const opened = Array.from({ length: 1 + this.#random.below(2) }, () => this.#opening(time));
      return { ...common, data: 'opens', outputs: [], dispensers: { opened, extendedTo: null } };
    }
    if (kind === 3) return { ...common, data: 'edits', outputs: [], dispensers: { opened: [], extendedTo: time } };
    const address = this.#one(NAMES);
    const count = this.#random.below(20) === 0 ? 2_500 : 1 + this.#random.below(3);
    const outputs = Array.from({ length: count }, (_, vout) => {
      return { vout, address, amount: BigInt(1 + this.#random.below(12)), isPayment: true as const };
    });
    const source = this.#random.below(10) === 0 ? '' : common.source;
    return { ...common, source, data: '', outputs, dispensers: NO_DISPENSERS };
  }

  #opening(time: number): OpenedDispenser {
    const address = this.#random.below(2) === 0 ? null : this.#one(NAMES);
    return {
      address,
      oracleAddress: this.#random.below(4) === 0 ? 'oracle' : null,
      expiration: this.#random.below(9) === 0 ? null : Math.max(0, time),
      least: BigInt(1 + this.#random.below(10)),
      ...(this.#random.below(3) === 0 ? { isInBatch: true } : {})
    };
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#random.below(list.length)]!;
  }
}

/** Rows of the tables, in the words of the model. */
async function keptIn(database: DatabaseCoordinates) {
  const names = 'JOIN index_addresses a ON a.id = address_id';
  const lines = async (sql: string) => (await query(database, sql)).map((row) => Object.values(row).join(' '));
  return {
    dispensers: await lines(
      `SELECT tx_index, a.address, expiration, COALESCE(o.address, '-'), COALESCE(expired_block_index, '-') FROM dispensers
       ${names} LEFT JOIN index_addresses o ON o.id = oracle_address_id ORDER BY tx_index, a.address`
    ),
    prices: await lines(
      `SELECT tx_index, a.address, least, dispensers FROM dispenser_watches ${names} ORDER BY tx_index, a.address, least`
    ),
    extensions: await lines(
      `SELECT block_index, a.address, expiration FROM dispenser_extensions
       ${names} ORDER BY block_index, a.address`
    ),
    payments: await lines(
      `SELECT block_index, tx_index, a.address, least, payments FROM dispenser_payments ${names}
       ORDER BY block_index, tx_index, a.address, least`
    ),
    stored: await lines(
      `SELECT h.hash, COUNT(o.vout), COALESCE(SUM(o.vout), 0) FROM transactions t
       JOIN index_transactions h ON h.id = t.tx_hash_id LEFT JOIN transaction_outputs o USING (tx_index)
       GROUP BY t.tx_index ORDER BY t.tx_index`
    )
  };
}

/** Rows that the tables should have. @param highest block that was ever written: what was forgotten then is gone */
function keptBy({ state }: DispenserModel, highest: number) {
  const isGone = ({ expiredAt }: Dispenser) => expiredAt !== null && expiredAt <= highest - KEPT_BLOCKS;
  const kept = state.dispensers.filter((one) => !isGone(one));
  const places = new Set(kept.map(({ txIndex, address }) => `${txIndex} ${address}`));
  const placeOf = (payment: string) => payment.split(' ').slice(1, 3).join(' ');
  return {
    dispensers: kept.map(({ txIndex, address, expiration, oracleAddress, expiredAt }) =>
      [txIndex, address, expiration, oracleAddress ?? '-', expiredAt ?? '-'].join(' ')
    ),
    prices: kept.flatMap(({ txIndex, address, prices }) =>
      prices.map(({ least, dispensers }) => [txIndex, address, least, dispensers].join(' '))
    ),
    extensions: state.extensions.map(({ height, address, expiration }) => [height, address, expiration].join(' ')),
    payments: [...state.payments].filter(([at]) => places.has(placeOf(at))).map(([at, count]) => `${at} ${count}`),
    stored: state.stored
  };
}

/** Lines that one side has and the other lacks. */
function assertSame(found: Readonly<Record<string, readonly string[]>>, expected: typeof found, place: string): void {
  for (const [name, lines] of Object.entries(expected)) {
    const [these, those] = [new Set(found[name]), new Set(lines)];
    const differing = { missing: [...those.difference(these)], added: [...these.difference(those)] };
    assert.deepEqual(differing, { missing: [], added: [] }, `${name} ${place}`);
  }
}

for (const seed of [1, 16, 17, 26])
  test(`dispensers and payments are those of the plain rules, in groups, over rollbacks and starts: chain ${seed}`, async () => {
    const chain = new Chain(seed);
    const random = new Random(seed + 1_000);
    const database = await createDatabase(`dispensers_model_${seed}`);
    const open = () => openDecoderStore(database, { dispenserLimitHeight: LIMIT_FROM });
    let store = await open();
    let highest = 0;
    const model = new DispenserModel(LIMIT_FROM);
    while (chain.length < BLOCKS) {
      const group = chain.grow(1 + random.below(random.below(3) === 0 ? 50 : 4));
      await store.writeBlocks(group);
      for (const block of group) model.add(block);
      highest = Math.max(highest, chain.length - 1);
      const kind = random.below(8);
      if (kind === 0) {
        await store.database.close();
        store = await open();
      }
      for (let left = kind === 1 ? random.below(Math.min(chain.length, MOST_UNDONE)) : 0; left > 0; left--) {
        await store.rollBackTip();
        model.rollBackTip();
        chain.cut();
      }
      assertSame(await keptIn(database), keptBy(model, highest), `after ${chain.length} blocks`);
    }
    assert.ok(
      model.state.dispensers.some(({ expiredAt }) => expiredAt !== null),
      'the chain ends some'
    );
    await store.database.close();
  });
