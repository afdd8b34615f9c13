import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../src/coin/chains.ts';
import { DEFAULT_PROFILE } from '../../src/coin/profile.ts';
import { addressOf, isAddress } from '../../src/coin/script/address.ts';
import { payTo } from '../../src/coin/script/pay-scripts.ts';
import { parseAmount } from '../../src/consensus/amount.ts';
import type { BlockRows } from '../../src/decoder/block-rows.ts';
import { type DecoderStore, openDecoderStore } from '../../src/decoder/store.ts';
import { planIssues, planPayment } from '../../src/devnet/payments.ts';
import { createRandom, type Random } from '../../src/devnet/random.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { sql } from '../../test/support/sql.ts';
import { ReferenceLedger } from '../reference/ledger.ts';
import { planWriting } from './plan.ts';

/** A Bitcoin regtest: the reference knows no other chain's rules. */
export const INDEXED = chainNetwork('bitcoin', 'regtest');
const ACCOUNTS = Array.from({ length: 5 }, (_, place) => {
  const bytes = Uint8Array.from({ length: 20 }, () => place + 1);
  return addressOf(payTo({ kind: 'keyHash', bytes }), INDEXED.addresses)!;
});
const DEEPEST_REORG = 12;
const FIRST_TIME = 1_700_000_000;
const BLOCK_SECONDS = 600;
const AGAIN_MS = 500;

/** A decoder database that grows and reorganises, with the actions of a small wallet. */
export class WrittenDecoder {
  readonly #database: DatabaseCoordinates;
  readonly #seed: string;
  readonly #random: Random;
  #store: DecoderStore | null = null;
  #ended = false;
  #loop: Promise<void> = Promise.resolve();
  readonly written = { blocks: 0, reorgs: 0 };
  #named = 0;

  constructor(database: DatabaseCoordinates, seed: string) {
    this.#database = database;
    this.#seed = seed;
    this.#random = createRandom(`chaos ${seed} actions`);
  }

  /** Writes the first blocks: the genesis block and what the wallet issues. */
  async open(): Promise<void> {
    this.#store = await openDecoderStore(this.#database);
    await this.#store.writeBlocks([
      block({ height: 0, hash: INDEXED.genesisHash, previousHash: '', texts: [] }),
      block({ height: 1, hash: this.#name(), previousHash: INDEXED.genesisHash, texts: planIssues(ACCOUNTS) })
    ]);
    this.#loop = this.#grow();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#loop;
    await this.#store?.database.close();
  }

  async #grow(): Promise<void> {
    for (const next of planWriting(this.#seed, this.#database.name)) {
      if (this.#ended) return;
      const depth = next.kind === 'reorg' ? Math.min(next.depth, DEEPEST_REORG) : 0;
      // A step that was cut off may have been done in part, as a decoder's may: the next goes on from what is there.
      await this.#step(depth, next.count).catch(() => sleep(AGAIN_MS));
      await sleep(next.pauseMs);
    }
  }

  async #step(depth: number, count: number): Promise<void> {
    this.#store ??= await openDecoderStore(this.#database);
    const store = this.#store;
    try {
      let tip = (await store.readTip())!;
      for (let undone = 0; undone < depth && tip.height > 1; undone++) tip = (await store.rollBackTip())!;
      const blocks: BlockRows[] = [];
      for (let at = 1; at <= count; at++) {
        const previousHash = blocks.at(-1)?.hash ?? tip.hash;
        const texts = Array.from({ length: this.#random.between(0, 4) }, () => planPayment(this.#random, ACCOUNTS));
        blocks.push(block({ height: tip.height + at, hash: this.#name(), previousHash, texts }));
      }
      await store.writeBlocks(blocks);
      this.written.blocks += count;
      if (depth > 0) this.written.reorgs += 1;
    } catch (caught) {
      this.#store = null;
      await store.database.close().catch(() => undefined);
      throw caught;
    }
  }

  /** A hash that no other block has. */
  #name(): string {
    this.#named += 1;
    return `c${this.#named}`.padStart(64, '0');
  }
}

function block(of: {
  readonly height: number;
  readonly hash: string;
  readonly previousHash: string;
  readonly texts: readonly { readonly from: string; readonly action: string }[];
}): BlockRows {
  const { texts, ...place } = of;
  return {
    ...place,
    time: FIRST_TIME + BLOCK_SECONDS * place.height,
    transactions: texts.map(({ from, action }, position) => ({
      hash: `${place.hash.slice(4)}f${position}`.padStart(64, 'e').slice(-64),
      source: from,
      data: action.replaceAll('LTC', INDEXED.ticker),
      rawData: null,
      pubkey: null,
      outputs: [],
      dispensers: { opened: [], extendedTo: null }
    })),
    findings: []
  };
}

/**
 * Judges an indexer's database by the reference, which shares no code with it: block by block the hash chain of the ledger, then every
 * balance.
 *
 * @returns what is wrong, in sentences
 */
export async function judgeIndexer(decoder: DatabaseCoordinates, indexer: DatabaseCoordinates): Promise<string[]> {
  const reference = new ReferenceLedger({
    isAddress: (text) => isAddress(text, INDEXED.addresses),
    stakeDelay: INDEXED.activationDelayBlocks,
    unstakeCooldown: INDEXED.unstakeCooldownBlocks,
    rewardPool: undefined,
    fees: { gas: DEFAULT_PROFILE.gas, price: DEFAULT_PROFILE.gasPrice, destination: undefined, donation: undefined }
  });
  const blocks = await sql(
    decoder,
    'SELECT b.block_index AS height, b.block_time AS time, h.hash FROM blocks b JOIN index_transactions h ON h.id = b.block_hash_id ORDER BY 1'
  );
  const transactions = Map.groupBy(
    await sql(
      decoder,
      `SELECT t.block_index AS height, h.hash, a.address AS source, t.data FROM transactions t
       JOIN index_transactions h ON h.id = t.tx_hash_id JOIN index_addresses a ON a.id = t.source_id ORDER BY t.tx_index`
    ),
    ({ height }) => Number(height)
  );
  const indexed = new Map(
    (
      await sql(
        indexer,
        `SELECT b.block_index AS height, c.block_hash AS hash, l.hash AS ledger, a.hash AS actions FROM blocks b
         JOIN chain_blocks c ON c.block_index = b.block_index JOIN index_transactions l ON l.id = b.ledger_hash_id
         JOIN index_transactions a ON a.id = b.actions_hash_id`
      )
    ).map((row) => [Number(row['height']), row])
  );
  for (const { height: at, time, hash } of blocks) {
    const height = Number(at);
    const own = (transactions.get(height) ?? []).map(({ hash, source, data }) => {
      return { hash: String(hash), source: String(source), data: String(data) };
    });
    const expected = reference.run({ height, time: Number(time), transactions: own });
    const found = indexed.get(height);
    const wanted = { height, hash, ledger: expected.ledger, actions: expected.actions };
    if (JSON.stringify({ ...found, height }) !== JSON.stringify(wanted))
      return [`block ${height} of the indexer is ${JSON.stringify(found)}, by the reference ${JSON.stringify(wanted)}`];
  }
  const wrong: string[] = [];
  if (indexed.size !== blocks.length)
    wrong.push(`the indexer has ${indexed.size} blocks, the decoder ${blocks.length}`);
  const balances = await sql(
    indexer,
    `SELECT a.address, i.tick, b.amount FROM balances b JOIN index_addresses a ON a.id = b.address_id
     JOIN index_tickers i ON i.id = b.tick_id`
  );
  const held = (address: string, tick: string) => `${address} holds ${tick}`;
  const indexedTokens = new Map(
    balances.map(({ address, tick, amount }) => [
      held(String(address), String(tick).toLowerCase()),
      parseAmount(String(amount))
    ])
  );
  const referenceTokens = new Map(
    // An indexer keeps no row of nothing.
    [...reference.holdings].flatMap(({ address, tick, amount }) =>
      amount === 0n ? [] : [[held(address, tick.toLowerCase()), amount] as const]
    )
  );
  try {
    assert.deepEqual(new Map([...indexedTokens].sort()), new Map([...referenceTokens].sort()));
  } catch (caught) {
    wrong.push(`balances of the indexer differ from the reference: ${(caught as Error).message.slice(0, 500)}`);
  }
  return wrong;
}
