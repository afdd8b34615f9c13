import { type Connection, rows, type SqlRow } from '../../../db/connection.ts';
import { PRICE_SOURCES } from '../../oracle/sources.ts';
import { rememberCarrier } from './carriers.ts';
import { ORACLE_COLUMNS, type OraclePrice } from './oracle-prices.ts';
import { judge, type Known, noteRemoval, type Outcome, outcomeOf, type Refusal } from './ranks.ts';
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

/** The same with what it rests on, as methods answer with it. */
interface JudgedSnapshot extends PriceSnapshot {
  /** Sources whose prices the round's hub took the median of; null for rounds that validators signed. */
  readonly sources: number | null;
  /** Difference of the source that is furthest off, in percent of the price. */
  readonly deviation: string | null;
  /** 1: the price is the bound that what the sources said was beyond. */
  readonly bounded: 0 | 1;
  /** Epoch seconds of the oldest source's price; null: not known, as of rounds that validators signed. */
  readonly oldest_at: number | null;
  /** Seconds since the oldest source's price, else since the row's time; below 0 when the clock was set back. */
  readonly age_s: number;
}

/** Prices that an indexer found in a block; the id and the times come from here. */
type PushedSnapshots = {
  readonly [K in 'round_number' | 'block_timestamp' | 'validator_count' | 'push_generation']: number;
} & Pick<PriceSnapshot, 'source_chain' | 'source_action_index' | 'reference_block' | 'consensus_proof'> & {
    readonly pairs: readonly PairPrice[];
  };

/** The price of one pair in a round. */
interface PairPrice {
  readonly pair: string;
  readonly price: string;
  /** Default: finalized. */
  readonly status?: 'skipped';
  /** @see JudgedSnapshot */
  readonly sources?: number;
  readonly deviation?: string | null;
  readonly bounded?: boolean;
  readonly oldestAt?: number | null;
}
/** Origin of a round: this hub by its sources, or validators together. Each numbers its rounds by itself. */
type PriceOrigin = 'hub' | 'validators';

/** A price of validators counts against one of the hub that is up to this much newer. */
const VALIDATORS_AHEAD_S = 1_800;
const SNAPSHOT_COLUMNS = `id, round_number, coin_pair, price, reference_block, reference_chain, block_timestamp,
  validator_count, consensus_round, consensus_proof, status, source_chain, source_action_index, push_generation, created_at`;
/** SQL of the time from which the age of a price counts. */
const FOUND_AT = 'COALESCE(oldest_at, block_timestamp)';
const JUDGED_COLUMNS = `${SNAPSHOT_COLUMNS}, sources, deviation, bounded, oldest_at,
  CAST(? AS SIGNED) - CAST(${FOUND_AT} AS SIGNED) AS age_s`;

/** The clock that ages are measured with, in epoch seconds: that of the machine, corrected by the sources of prices. */
export type Now = number;

/** Returns the newest prices, the last one first. @param status null: of any @param before ids are less; null: the newest */
export const newestSnapshots = (
  connection: Connection,
  { now, status, before }: { readonly now: Now; readonly status: string | null; readonly before: number | null },
  limit: number
) =>
  rows<JudgedSnapshot>(
    connection,
    `SELECT ${JUDGED_COLUMNS} FROM price_snapshots WHERE (? IS NULL OR status = ?) AND (? IS NULL OR id < ?)
     ORDER BY id DESC LIMIT ?`,
    [now, status, status, before, before, limit]
  );

/**
 * Reads the finalized price of a pair that counts. Rounds of validators and of this hub are numbered differently, so
 * times decide, and the hub's own price counts only where that of the validators is half an hour older.
 *
 * @param oldest epoch seconds: a last round of before does not count
 */
export async function currentPrice(
  connection: Connection,
  pair: string,
  now: Now,
  oldest = 0
): Promise<JudgedSnapshot | undefined> {
  const newestOf = async (origin: PriceOrigin) => {
    const [last] = await rows<JudgedSnapshot>(
      connection,
      `SELECT ${JUDGED_COLUMNS} FROM price_snapshots WHERE coin_pair = ? AND status = 'finalized' AND origin = ?
        ORDER BY round_number DESC LIMIT 1`,
      [now, pair, origin]
    );
    return last && now - last.age_s >= oldest ? last : undefined;
  };
  const [signed, own] = [await newestOf('validators'), await newestOf('hub')];
  const isOutdated = signed && own && signed.block_timestamp < own.block_timestamp - VALIDATORS_AHEAD_S;
  return isOutdated ? own : (signed ?? own);
}

/** Reads the prices that count of those pairs that have one. @see currentPrice */
export async function lastPrices(connection: Connection, pairs: readonly string[], now: Now, oldest: number) {
  const found = [];
  for (const pair of pairs) found.push(await currentPrice(connection, pair, now, oldest));
  return found.filter((price) => price !== undefined);
}

interface OwnPrice extends SqlRow, Pick<PriceSnapshot, 'coin_pair' | 'price'> {
  /** The last price that two sources carried, and was no bound; else the first one. */
  readonly carried: string;
  /** Epoch seconds. */
  readonly carried_at: number;
}

const OWN = "coin_pair = ? AND status = 'finalized' AND origin = 'hub'";
/** Numbers of sources that carry a price together: the key has the last round of each. */
const CARRYING = Object.keys(PRICE_SOURCES)
  .map((_, at) => at + 1)
  .filter((sources) => sources >= 2);

/** Reads the last price of each pair that this hub found itself: by keys, however many rounds there are. */
export async function lastOwnPrices(connection: Connection, pairs: readonly string[]): Promise<OwnPrice[]> {
  const roundOf = (end: 'ASC' | 'DESC', more = '') =>
    `(SELECT round_number FROM price_snapshots WHERE ${OWN} ${more} ORDER BY round_number ${end} LIMIT 1)`;
  const carried = CARRYING.map(
    (sources) => `COALESCE(${roundOf('DESC', `AND bounded = 0 AND sources = ${sources}`)}, 0)`
  );
  const found: OwnPrice[] = [];
  for (const pair of pairs)
    for (const price of await rows<OwnPrice>(
      connection,
      `SELECT l.coin_pair, l.price, c.price AS carried, c.block_timestamp AS carried_at
           FROM (SELECT ${roundOf('DESC')} AS last, NULLIF(GREATEST(0, ${carried.join(', ')}), 0) AS carried, ${roundOf('ASC')} AS first) n
           JOIN price_snapshots l ON l.round_number = n.last AND l.coin_pair = ? AND l.origin = 'hub'
           JOIN price_snapshots c
             ON c.round_number = COALESCE(n.carried, n.first) AND c.coin_pair = l.coin_pair AND c.origin = 'hub'`,
      Array.from({ length: CARRYING.length + 3 }, () => pair)
    ))
      found.push(price);
  return found;
}

/** A pair, and how many seconds ago this hub found its price; below 0 when the clock was set back. */
export interface PairAge {
  readonly pair: string;
  readonly ageS: number;
}

/**
 * Returns the pair whose own price is oldest, of those that this hub had a price of and that a source told in its last round: one
 * that is skipped since then is not hidden by the others. Null: there is none.
 */
export async function oldestPair(connection: Connection, now: Now): Promise<PairAge | null> {
  const [oldest] = await rows<{ pair: string; at: number }>(
    connection,
    `SELECT told.coin_pair AS pair,
            (SELECT own.block_timestamp FROM price_snapshots own
              WHERE own.coin_pair = told.coin_pair AND own.status = 'finalized' AND own.origin = 'hub'
              ORDER BY own.round_number DESC LIMIT 1) AS at
       FROM price_snapshots told
      WHERE told.origin = 'hub' AND (told.status = 'finalized' OR told.sources > 0)
        AND told.round_number = (SELECT MAX(round_number) FROM price_snapshots WHERE origin = 'hub')
     HAVING at IS NOT NULL ORDER BY at, pair LIMIT 1`
  );
  return oldest ? { pair: oldest.pair, ageS: now - Number(oldest.at) } : null;
}

/** Keeps a round that this hub found; one that has prices replaces its own one without any, as its next generation. */
export async function insertOwnRound(connection: Connection, pushed: PushedSnapshots): Promise<Refusal> {
  const round = pushed.round_number;
  const [known] = await rows<Known & { readonly prices: number }>(
    connection,
    `SELECT push_generation AS generation, source_chain AS chain, source_action_index AS actionIndex,
            (SELECT COUNT(*) FROM price_snapshots WHERE round_number = ? AND origin = 'hub' AND status <> 'skipped') AS prices
       FROM price_snapshots WHERE round_number = ? AND origin = 'hub' LIMIT 1`,
    [round, round]
  );
  const fills = known?.prices === 0 && pushed.pairs.some(({ status }) => status !== 'skipped');
  if (known && !fills) return 'duplicate';
  const generation = known ? known.generation + 1 : pushed.push_generation;
  await replaceRound(connection, { ...pushed, push_generation: generation }, 'hub', true, known);
  return null;
}

/** Keeps a round that validators signed. @see judge for what it takes the place of */
export async function insertSignedRound(
  connection: Connection,
  pushed: PushedSnapshots,
  trusted: boolean
): Promise<Outcome> {
  const stored = await rows<Known & { readonly price_text: string }>(
    connection,
    `SELECT push_generation AS generation, source_chain AS chain, source_action_index AS actionIndex, trusted,
            CONCAT_WS(' ', coin_pair, TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM price)), block_timestamp) AS price_text
       FROM price_snapshots WHERE round_number = ? AND origin = 'validators'`,
    [pushed.round_number]
  );
  const [known] = stored;
  if (known) {
    const says = pushed.pairs.map(({ pair, price }) => `${pair} ${shortened(price)} ${pushed.block_timestamp}`);
    const isSame = String(stored.map(({ price_text }) => price_text).sort()) === String(says.sort());
    const isElsewhere = known.chain !== pushed.source_chain;
    const isSamePlace = !isElsewhere && Number(known.actionIndex) === pushed.source_action_index;
    // Generations of different chains say nothing of each other: the round is the same, wherever it was published, or decided.
    if (isElsewhere && (known.trusted || !trusted)) {
      if (trusted || !known.trusted) await rememberCarrier(connection, pushed, trusted);
      return { refused: 'duplicate' };
    }
    const refused = judge(known, { trusted, generation: pushed.push_generation, isSame: isSame && isSamePlace });
    if (refused) return outcomeOf(refused, known);
  }
  await replaceRound(connection, pushed, 'validators', trusted, known);
  return { refused: null };
}

/** Writes a round in place of the one of its number, if there is one. @param known the row that it takes the place of */
export async function replaceRound(
  connection: Connection,
  { pairs, ...shared }: PushedSnapshots,
  origin: PriceOrigin,
  trusted: boolean,
  known: Known | undefined
): Promise<void> {
  const { round_number: round, push_generation: generation } = shared;
  await connection.query('DELETE FROM price_snapshots WHERE round_number = ? AND origin = ?', [round, origin]);
  for (const { pair, price, status = 'finalized', sources = null, deviation = null, bounded = false, ...at } of pairs)
    await connection.query('INSERT INTO price_snapshots SET ?', {
      ...shared,
      coin_pair: pair,
      price,
      reference_chain: 'BTC',
      consensus_round: round,
      status,
      origin,
      trusted,
      sources,
      deviation,
      bounded,
      oldest_at: at.oldestAt ?? null
    });
  if (known)
    await noteRemoval(connection, { table: 'price_snapshots', round_number: round }, known, generation, trusted);
}

/** Returns a decimal without zeros at its end. */
const shortened = (price: string): string => (price.includes('.') ? price.replace(/\.?0+$/, '') : price);

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
