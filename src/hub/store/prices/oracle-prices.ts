import { type Connection, rows, type SqlRow } from '../../../db/connection.ts';
import { insertRemovalsOfStrangers } from './price-removals.ts';
import { judge, type Known, noteRemoval, type Outcome, outcomeOf } from './ranks.ts';

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
  /** Time from which on it holds. */
  readonly effective_at: number;
  readonly action_index: number;
  readonly push_generation: number;
  readonly created_at: string;
}

/** Content of a PRICE that an indexer read. */
type PushedPrice = Pick<
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

/** Rows of `oracle_prices` that callers told who are not trusted. */
const MOST_BY_STRANGERS = 10_000;

/** Delay of an update of a price that is known: users of the old one can leave within a day. */
const UPDATE_DELAY_S = 86_400;

/** Columns of `oracle_prices` that hold the content of a PRICE. */
const SAID = ['source_address', 'coin', 'tick', 'fiat', 'value', 'fee', 'memo', 'block_time'] as const;
/** The columns of a row as an answer has it. */
export const ORACLE_COLUMNS = `id, source_address, source_chain, coin, tick, fiat, value, fee, memo, block_time, effective_at,
  action_index, push_generation, created_at`;

/**
 * Returns the ids of the rows that hold at a time in epoch seconds, the newest of each feed (address, coin, tick, fiat), lowest first: by
 * keys, however many rows a feed has.
 */
export async function latestOracleIds(
  connection: Connection,
  at: number,
  since: number,
  limit: number
): Promise<readonly number[]> {
  const found = await rows<{ id: number }>(
    connection,
    `SELECT id FROM (
       SELECT (SELECT n.id FROM oracle_prices n FORCE INDEX (oracle_prices_feed)
                WHERE ${FEED.map((name) => `n.${name} = f.${name}`).join(' AND ')} AND n.effective_at <= ?
                ORDER BY n.effective_at DESC, n.id DESC LIMIT 1) AS id
         FROM (SELECT DISTINCT ${FEED.join(', ')} FROM oracle_prices) f) held
     WHERE id > ? ORDER BY id LIMIT ?`,
    [at, since, limit]
  );
  return found.map(({ id }) => id);
}

/** Returns rows by their ids, lowest first; those that are gone are left out. */
export const oraclePricesOf = async (connection: Connection, ids: readonly number[]): Promise<OraclePrice[]> =>
  ids.length === 0
    ? []
    : await rows<OraclePrice>(connection, `SELECT ${ORACLE_COLUMNS} FROM oracle_prices WHERE id IN (?) ORDER BY id`, [
        ids
      ]);

/** Columns that decide which of two rows stays. */
const RANK = 'push_generation AS generation, source_chain AS chain, action_index AS actionIndex, trusted';

/** Columns that identify a feed: the prices of one token by one address. */
const FEED = ['source_address', 'source_chain', 'coin', 'tick', 'fiat'] as const;
/** Feeds that are named in one statement. */
const FEEDS_AT_ONCE = 200;
type Feed = Readonly<Record<(typeof FEED)[number], string>>;
const OF_FEED = FEED.map((name) => `${name} = ?`).join(' AND ');
const namesOf = (feed: Feed): string[] => FEED.map((name) => feed[name]);

/**
 * Keeps a price of an address. @see judge for the rows that it replaces
 *
 * What a stranger says goes when somebody says it who is trusted, and nothing of a stranger's is taken where that has been.
 */
export async function insertOraclePrice(
  connection: Connection,
  pushed: PushedPrice,
  trusted: boolean
): Promise<Outcome> {
  const { source_chain: chain, action_index: index } = pushed;
  const [known] = await rows<Known & Feed & Record<string, unknown>>(
    connection,
    `SELECT ${ORACLE_COLUMNS}, ${RANK} FROM oracle_prices WHERE source_chain = ? AND action_index = ?`,
    [chain, index]
  );
  if (known) {
    const isSame = SAID.every((name) => String(known[name] ?? '') === String(pushed[name] ?? ''));
    const refused = judge(known, { trusted, generation: pushed.push_generation, isSame });
    if (refused) return outcomeOf(refused, known);
  }
  if (!trusted && (await isTold(connection, pushed))) return { refused: 'stale' };
  if (known) await removePrice(connection, known, trusted, pushed.push_generation);
  else if (!trusted) await makeRoom(connection);
  if (trusted) await removeStrangers(connection, pushed);
  const earlier = await rows(
    connection,
    `SELECT 1 FROM oracle_prices WHERE ${OF_FEED} AND trusted IN (0, 1) AND action_index < ? LIMIT 1`,
    [...namesOf(pushed), index]
  );
  const effectiveAt = pushed.block_time + (earlier.length > 0 ? UPDATE_DELAY_S : 0);
  await connection.query('INSERT INTO oracle_prices SET ?', { ...pushed, effective_at: effectiveAt, trusted });
  for (const feed of [pushed, ...(known ? [known] : [])]) await settleFeed(connection, feed);
  return { refused: null };
}

/** Returns whether a trusted caller pushes prices of a feed. */
async function isTold(connection: Connection, feed: Feed): Promise<boolean> {
  const found = await rows(
    connection,
    `SELECT 1 FROM oracle_prices WHERE ${OF_FEED} AND trusted = 1 LIMIT 1`,
    namesOf(feed)
  );
  return found.length > 0;
}

async function removeStrangers(connection: Connection, feed: Feed): Promise<void> {
  const values = namesOf(feed);
  await insertRemovalsOfStrangers(connection, 'oracle_prices', { where: OF_FEED, values, below: 0 });
  await connection.query(`DELETE FROM oracle_prices WHERE ${OF_FEED} AND trusted = 0`, values);
}

/** @param generation that of what takes its place; default: the next one */
async function removePrice(
  connection: Connection,
  row: Known,
  trusted: boolean,
  generation = row.generation + 1
): Promise<void> {
  const { chain, actionIndex } = row;
  await connection.query('DELETE FROM oracle_prices WHERE source_chain = ? AND action_index = ?', [chain, actionIndex]);
  await noteRemoval(connection, { table: 'oracle_prices', round_number: null }, row, generation, trusted);
}

/**
 * Decides again from when on the first two prices of a feed hold, of which another one may be the first now: by the places of their
 * actions and not by when they were told, so that a hub that was away finds the same. A row whose time changes is told anew.
 */
async function settleFeed(connection: Connection, feed: Feed): Promise<void> {
  // Whoever has a feed may make it as long as he likes: the key has the first two of either trust.
  const firstOf = (trusted: 0 | 1) =>
    `(SELECT ${ORACLE_COLUMNS}, ${RANK} FROM oracle_prices WHERE ${OF_FEED} AND trusted = ${trusted} ORDER BY action_index LIMIT 2)`;
  const first = await rows<Known & Record<string, unknown>>(
    connection,
    `${firstOf(0)} UNION ALL ${firstOf(1)} ORDER BY action_index LIMIT 2`,
    [...namesOf(feed), ...namesOf(feed)]
  );
  for (const [place, row] of first.entries()) {
    const { id, created_at, effective_at, generation, chain, actionIndex, trusted, ...fields } = row;
    const holdsAt = Number(fields['block_time']) + (place === 0 ? 0 : UPDATE_DELAY_S);
    if (Number(effective_at) === holdsAt) continue;
    await removePrice(connection, row, Boolean(trusted));
    const settled = { ...fields, created_at, effective_at: holdsAt, trusted };
    await connection.query('INSERT INTO oracle_prices SET ?', [settled]);
  }
}

/** Takes back what a chain's actions told. @returns how many rows */
export async function retractOraclePrices(connection: Connection, where: string, values: unknown[]): Promise<number> {
  const gone = await rows<Feed & SqlRow>(
    connection,
    `SELECT ${FEED.join(', ')} FROM oracle_prices WHERE ${where}`,
    values
  );
  if (gone.length === 0) return 0;
  await connection.query(`DELETE FROM oracle_prices WHERE ${where}`, values);
  for (const feed of await findLeft(connection, gone)) await settleFeed(connection, feed);
  return gone.length;
}

/** Returns the feeds, among some, that have rows. Strangers may have told of thousands that have none now. */
async function findLeft(connection: Connection, feeds: readonly Feed[]): Promise<Feed[]> {
  const names = [...new Map(feeds.map((feed) => [JSON.stringify(namesOf(feed)), namesOf(feed)])).values()];
  const left: Feed[] = [];
  for (let at = 0; at < names.length; at += FEEDS_AT_ONCE)
    for (const feed of await rows<Feed & SqlRow>(
      connection,
      `SELECT DISTINCT ${FEED.join(', ')} FROM oracle_prices WHERE (${FEED.join(', ')}) IN (?)`,
      [names.slice(at, at + FEEDS_AT_ONCE)]
    ))
      left.push(feed);
  return left;
}

/** Deletes the oldest of strangers' prices when there are too many. */
async function makeRoom(connection: Connection): Promise<void> {
  const [counted] = await rows<{ n: number }>(connection, 'SELECT COUNT(*) AS n FROM oracle_prices WHERE trusted = 0');
  const surplus = Number(counted?.n ?? 0) - MOST_BY_STRANGERS + 1;
  if (surplus > 0) await connection.query('DELETE FROM oracle_prices WHERE trusted = 0 ORDER BY id LIMIT ?', [surplus]);
}
