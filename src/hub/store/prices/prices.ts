import { type Connection, rows, type SqlRow } from '../../../db/core/connection.ts';
import { insertRemoval } from './price-removals.ts';
import type { StreamedTable } from './streamed-tables.ts';

/** A row of `price_snapshots`. */
export interface PriceSnapshot extends SqlRow {
  readonly id: number;
  readonly round_number: number;
  /** `BTC/USD`. */
  readonly coin_pair: string;
  /** A decimal with 8 places. */
  readonly price: string;
  readonly reference_block: number | null;
  readonly reference_chain: string | null;
  /** Epoch seconds. */
  readonly block_timestamp: number;
  readonly validator_count: number;
  readonly consensus_round: number | null;
  readonly consensus_proof: string | null;
  readonly status: 'finalized' | 'skipped' | 'disputed';
  readonly source_chain: string | null;
  readonly source_action_index: number | null;
  readonly push_generation: number;
  readonly created_at: string;
}

/** A row of `oracle_prices`: what an address says that a token costs. */
export interface OraclePrice extends SqlRow {
  readonly id: number;
  readonly source_address: string;
  readonly source_chain: string;
  readonly coin: string;
  readonly tick: string;
  readonly fiat: string;
  readonly value: string;
  readonly fee: string | null;
  readonly memo: string | null;
  /** Epoch seconds, as the next one. */
  readonly block_time: number;
  /** From when on it holds. */
  readonly effective_at: number;
  readonly action_index: number;
  readonly push_generation: number;
  readonly created_at: string;
}

/** What an indexer found in a block; the id and the times come from here. */
export type PushedSnapshots = {
  readonly [K in 'round_number' | 'block_timestamp' | 'validator_count' | 'push_generation']: number;
} & Pick<PriceSnapshot, 'source_chain' | 'source_action_index' | 'reference_block' | 'consensus_proof'> & {
    /** Default: finalized. */
    readonly pairs: readonly { readonly pair: string; readonly price: string; readonly status?: 'skipped' }[];
  };
export type PushedPrice = Pick<
  OraclePrice,
  | 'source_address'
  | 'source_chain'
  | 'coin'
  | 'tick'
  | 'fiat'
  | 'value'
  | 'fee'
  | 'memo'
  | 'block_time'
  | 'action_index'
  | 'push_generation'
>;

/** Why a push changed nothing; null when it did. */
export type Refusal = string | null;

/** An update of a price that is known takes effect a day later: whoever relies on it can leave. */
const UPDATE_DELAY_S = 86_400;

const SNAPSHOT_COLUMNS = `id, round_number, coin_pair, price, reference_block, reference_chain, block_timestamp,
  validator_count, consensus_round, consensus_proof, status, source_chain, source_action_index, push_generation, created_at`;
const ORACLE_COLUMNS = `id, source_address, source_chain, coin, tick, fiat, value, fee, memo, block_time, effective_at,
  action_index, push_generation, created_at`;

/** Of each feed (address, coin, tick, fiat) the newest row that holds at a time in epoch seconds. */
export const latestOraclePrices = (connection: Connection, at: number, since: number, limit: number) =>
  rows<OraclePrice>(
    connection,
    `SELECT ${ORACLE_COLUMNS} FROM (
       SELECT p.*, ROW_NUMBER() OVER (
         PARTITION BY source_address, source_chain, coin, tick, fiat ORDER BY effective_at DESC, id DESC) AS place
       FROM oracle_prices p WHERE effective_at <= ?) ranked
     WHERE place = 1 AND id > ? ORDER BY id LIMIT ?`,
    [at, since, limit]
  );

/** The newest rounds first. @param status null: of any */
export const newestSnapshots = (connection: Connection, status: string | null, limit: number) =>
  rows<PriceSnapshot>(
    connection,
    `SELECT ${SNAPSHOT_COLUMNS} FROM price_snapshots WHERE ? IS NULL OR status = ?
     ORDER BY round_number DESC, coin_pair LIMIT ?`,
    [status, status, limit]
  );

/** The last finalized price of a pair. */
export async function currentPrice(connection: Connection, pair: string): Promise<PriceSnapshot | undefined> {
  const found = await rows<PriceSnapshot>(
    connection,
    `SELECT ${SNAPSHOT_COLUMNS} FROM price_snapshots WHERE coin_pair = ? AND status = 'finalized'
     ORDER BY round_number DESC LIMIT 1`,
    [pair]
  );
  return found[0];
}

/** The last finalized price of each pair that has one. @param oldest epoch seconds: earlier ones do not count */
export const lastPrices = (connection: Connection, pairs: readonly string[], oldest = 0) =>
  rows<Pick<PriceSnapshot, 'coin_pair' | 'price'>>(
    connection,
    `SELECT p.coin_pair, p.price FROM price_snapshots p JOIN (
       SELECT coin_pair, MAX(round_number) AS round FROM price_snapshots
        WHERE coin_pair IN (?) AND status = 'finalized' GROUP BY coin_pair) newest
     ON p.coin_pair = newest.coin_pair AND p.round_number = newest.round WHERE p.block_timestamp >= ?`,
    [pairs, oldest]
  );

/** Seconds since the last round that has a finalized price; null: none has. */
export async function ageOfPrices(connection: Connection): Promise<number | null> {
  const [newest] = await rows<{ age: number }>(
    connection,
    `SELECT UNIX_TIMESTAMP() - UNIX_TIMESTAMP(created_at) AS age FROM price_snapshots
      WHERE status = 'finalized' ORDER BY round_number DESC LIMIT 1`
  );
  return newest ? Math.max(0, Number(newest.age)) : null;
}

/**
 * Keeps a round. A later generation, after a reorg of the source chain, replaces what an earlier one said; a round of this hub
 * that has prices replaces its own one without any, as its next generation.
 */
export async function insertRound(connection: Connection, pushed: PushedSnapshots): Promise<Refusal> {
  const { pairs, ...shared } = pushed;
  const round = shared.round_number;
  const [known] = await rows<Known & { readonly prices: number }>(
    connection,
    `SELECT push_generation AS generation, source_chain AS chain, source_action_index AS actionIndex,
            (SELECT COUNT(*) FROM price_snapshots WHERE round_number = ? AND status <> 'skipped') AS prices
       FROM price_snapshots WHERE round_number = ? LIMIT 1`,
    [round, round]
  );
  const isOwn = shared.source_chain === null && known?.chain === null;
  const fillsOwn = isOwn && known.prices === 0 && pairs.some(({ status }) => status !== 'skipped');
  const generation = fillsOwn ? known.generation + 1 : shared.push_generation;
  const refused = compareGenerations(known, generation);
  if (refused) return refused;
  await connection.query('DELETE FROM price_snapshots WHERE round_number = ?', [round]);
  for (const { pair, price, status = 'finalized' } of pairs)
    await connection.query('INSERT INTO price_snapshots SET ?', {
      ...shared,
      push_generation: generation,
      coin_pair: pair,
      price,
      reference_chain: 'BTC',
      consensus_round: round,
      status
    });
  if (known) await noteRemoval(connection, { table: 'price_snapshots', round_number: round }, known, generation);
  return null;
}

/** Keeps what an address says. @see insertRound for generations */
export async function insertOraclePrice(connection: Connection, pushed: PushedPrice): Promise<Refusal> {
  const { source_chain: chain, action_index: index, source_address: address, coin, tick, fiat } = pushed;
  const [known] = await rows<Known>(
    connection,
    `SELECT push_generation AS generation, source_chain AS chain, action_index AS actionIndex
       FROM oracle_prices WHERE source_chain = ? AND action_index = ?`,
    [chain, index]
  );
  const refused = compareGenerations(known, pushed.push_generation);
  if (refused) return refused;
  await connection.query('DELETE FROM oracle_prices WHERE source_chain = ? AND action_index = ?', [chain, index]);
  const feed = await rows(
    connection,
    `SELECT 1 FROM oracle_prices
      WHERE source_address = ? AND source_chain = ? AND coin = ? AND tick = ? AND fiat = ? LIMIT 1`,
    [address, chain, coin, tick, fiat]
  );
  const effectiveAt = pushed.block_time + (feed.length > 0 ? UPDATE_DELAY_S : 0);
  await connection.query('INSERT INTO oracle_prices SET ?', { ...pushed, effective_at: effectiveAt });
  const oracle = { table: 'oracle_prices', round_number: null } as const;
  if (known) await noteRemoval(connection, oracle, known, pushed.push_generation);
  return null;
}

/** What is stored under the name of a pushed row. */
interface Known extends SqlRow {
  readonly generation: number;
  readonly chain: string | null;
  readonly actionIndex: number | null;
}

function compareGenerations(known: Known | undefined, pushed: number): Refusal {
  if (known === undefined || pushed > known.generation) return null;
  return pushed === known.generation ? 'duplicate' : 'stale';
}

const noteRemoval = (
  connection: Connection,
  where: { readonly table: StreamedTable; readonly round_number: number | null },
  { chain, actionIndex }: Known,
  generation: number
) =>
  insertRemoval(connection, {
    ...where,
    source_chain: chain,
    from_action_index: actionIndex,
    to_action_index: actionIndex,
    retraction_generation: generation
  });

/** Rows of a table in the order of their ids. @param since the ids are greater */
export const pageOf = (
  connection: Connection,
  table: StreamedTable,
  since: number,
  limit: number
): Promise<(PriceSnapshot | OraclePrice)[]> =>
  rows<PriceSnapshot | OraclePrice>(
    connection,
    `SELECT ${table === 'price_snapshots' ? SNAPSHOT_COLUMNS : ORACLE_COLUMNS} FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`,
    [since, limit]
  );
