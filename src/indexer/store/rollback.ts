import { formatAmount } from '../../consensus/amount.ts';
import { rows, type Statements } from '../../db/connection.ts';
import { pages } from '../../db/pages.ts';
import type { Rules } from '../profile/rules.ts';
import { retractPushes } from '../pushes/queue.ts';
import { RELEASED } from '../staking/release.ts';
import { LIVE_STATUSES } from '../state/offer.ts';
import type { Token } from '../state/token.ts';
import { deleteFrom } from './delete-rows.ts';
import { readToken } from './facts/tokens.ts';
import { readUndoneLinks, unmapFiles } from './file-mappings.ts';
import { readMarketUndo, undoMarkets } from './markets/market-undo.ts';
import { readDecimal } from './read-decimal.ts';
import { checkSanity } from './sanity.ts';
import { replay } from './token-replay.ts';
import { writeTokens } from './token-rows.ts';
import { VALID_STATUS } from './valid-status.ts';

/** Tables whose rows are deleted with their action. */
const BY_ACTION = [
  'coinpay_expires',
  'coinpay_obligations',
  'coinpay_statuses',
  'coinpays',
  'attests',
  'delegations',
  'poll_results',
  'polls',
  'prices',
  'reward_claims',
  'stake_key_revocations',
  'stakes',
  'unstakes',
  'vote_delegations',
  'votes',
  'dispenser_cancels',
  'dispenser_closes',
  'dispenser_edits',
  'dispenser_expires',
  'dispenser_statuses',
  'dispenses',
  'order_cancels',
  'order_edits',
  'order_expires',
  'order_matches',
  'order_statuses',
  'swap_cancels',
  'swap_edits',
  'swap_expires',
  'swap_matches',
  'swap_statuses',
  'addresses',
  'airdrops',
  'batches',
  'broadcasts',
  'callbacks',
  'credits',
  'debits',
  'destroys',
  'dispensers',
  'dividends',
  'escrows',
  'files',
  'gated_files',
  'issues',
  'links',
  'list_edits',
  'list_items',
  'list_items_invalid',
  'list_transfers',
  'lists',
  'mappings_actions',
  'mappings_files',
  'messages',
  'fees',
  'mint_totals',
  'address_preferences',
  'deciding_actions',
  'trade_rests',
  'offer_edits',
  'list_counts',
  'mints',
  'orders',
  'sends',
  'sleeps',
  'swaps',
  'sweeps'
] as const;
const BY_BLOCK = [
  'actions',
  'transactions',
  'blocks',
  'chain_blocks',
  'price_blocks',
  'state_tree_roots',
  'index_addresses',
  'index_tickers'
] as const;

/**
 * Rolls back all blocks from a height on, inside the caller's transaction. Texts that were looked up keep their ids.
 * Addresses and tickers lose theirs, and the next blocks number them again.
 *
 * @returns the index of the first deleted action; null when none was
 * @throws {PlatformError} LEDGER_INSANE when the sums then disagree
 */
export async function rollBack(connection: Statements, height: number, rules: Rules): Promise<number | null> {
  const [first] = await rows<{ action: number | null }>(
    connection,
    'SELECT MIN(action_index) AS action FROM actions WHERE block_index >= ?',
    [height]
  );
  const action = first?.action ?? null;
  const undo = action === null ? null : await readUndo(connection, height, action);
  const linked = action === null ? null : await readUndoneLinks(connection, action, rules.coin);
  const offered = action === null ? [] : await readUndoneOwnerships(connection, action);
  const markets = await readMarketUndo(connection, height, action);
  if (action !== null) {
    await reopenMatches(connection, action);
    for (const table of BY_ACTION) await deleteFrom(connection, table, 'action_index', action);
  }
  // The ticker may have been named before its ISSUE; then it stays.
  if (action !== null) await deleteFrom(connection, 'tokens', 'action_index', action);
  for (const table of BY_BLOCK) await deleteFrom(connection, table, 'block_index', height);
  if (undo) await restore(connection, undo, height);
  await reopenPolls(connection, height);
  await undoSlashes(connection, height);
  await reopenStakes(connection, height, rules.stakeDelay);
  if (action !== null) await restoreHeldOwnerships(connection, offered, action);
  await undoMarkets(connection, height, markets);
  if (linked) await unmapFiles(connection, linked);
  await retractPushes(connection, action);
  await connection.query(
    'INSERT INTO push_generations VALUES (?, 1) ON DUPLICATE KEY UPDATE generation = generation + 1',
    [rules.coin]
  );
  return action;
}

/** Reopens matches whose payment or end is rolled back: they wait for payment again. */
async function reopenMatches(connection: Statements, action: number): Promise<void> {
  for (const table of ['coinpays', 'coinpay_expires']) {
    await connection.query(
      `UPDATE order_matches m JOIN ${table} e ON e.obligation_action_index = m.action_index
       SET m.status_id = (SELECT id FROM index_statuses WHERE status = 'pending_coinpay')
       WHERE e.action_index >= ? AND e.status_id = ${VALID_STATUS}`,
      [action]
    );
  }
}

/** Columns of a poll that hold its outcome. */
const OUTCOME = [
  'winning_option',
  'total_weight',
  'total_voters',
  'quorum_met',
  'min_voters_met',
  'fail_reason',
  'decided_early',
  'effective_close_block',
  'finalized_action_index',
  'resolved_block',
  'deposit_resolved'
];

/** Reopens polls that a rolled back block closed. */
async function reopenPolls(connection: Statements, height: number): Promise<void> {
  const cleared = OUTCOME.map((column) => `${column} = NULL`).join(', ');
  await connection.query(`UPDATE polls SET poll_status = 'open', ${cleared} WHERE resolved_block >= ?`, [height]);
}

/**
 * Restores slashed stakes from `capability_slash_debits`, and deletes the slashes, so that their keys are banned no
 * more.
 */
async function undoSlashes(connection: Statements, height: number): Promise<void> {
  for (const table of ['stakes', 'unstakes'] as const) {
    const status = table === 'unstakes' ? `, r.status_id = ${VALID_STATUS}` : '';
    await connection.query(
      `UPDATE ${table} r JOIN capability_slash_debits d ON d.target_table = ? AND d.stake_action_index = r.action_index
       SET r.amount = d.prev_amount${status} WHERE d.block_index >= ?`,
      [table, height]
    );
  }
  for (const table of ['capability_slash_debits', 'capability_slash_events'])
    await connection.query(`DELETE FROM ${table} WHERE block_index >= ?`, [height]);
}

/**
 * Reopens stakes and delegations that a rolled back block ended, and puts units that it returned back into cooldown.
 */
async function reopenStakes(connection: Statements, height: number, delay: number): Promise<void> {
  for (const table of ['stakes', 'delegations']) {
    await connection.query(`UPDATE ${table} SET deactivation_block = NULL WHERE deactivation_block >= ?`, [
      height + delay
    ]);
  }
  await connection.query(
    `UPDATE unstakes SET status_id = ${VALID_STATUS} WHERE cooldown_end_block >= ?
       AND status_id = (SELECT id FROM index_statuses WHERE status = ?)`,
    [height, RELEASED]
  );
  await connection.query('DELETE FROM validator_rewards WHERE derive_block_index >= ?', [height]);
}

/** Offer of the ownership of a token. */
interface Ownership {
  readonly kind: OfferKind;
  readonly offer: number;
  readonly tick: number;
}

type OfferKind = 'order' | 'swap' | 'dispenser';

/** Reads the offers of ownerships that actions from `first` on made or ended. Call it before a rollback deletes them. */
async function readUndoneOwnerships(connection: Statements, first: number): Promise<Ownership[]> {
  const found: Ownership[] = [];
  for (const kind of ['order', 'swap', 'dispenser'] as const) {
    const select = `SELECT o.action_index AS offer, o.give_tick_id AS tick`;
    const isOne = `o.give_ownership = 1 AND o.status_id = ${VALID_STATUS}`;
    const read = await rows<Omit<Ownership, 'kind'>>(
      connection,
      `${select} FROM ${kind}s o WHERE o.action_index >= ? AND ${isOne} UNION ${select} FROM ${kind}_statuses s
       STRAIGHT_JOIN ${kind}s o ON o.action_index = s.${kind}_action_index WHERE s.action_index >= ? AND ${isOne}`,
      [first, first]
    );
    for (const each of read) found.push({ kind, ...each });
  }
  return found;
}

/**
 * Gives the ownership of tokens back to the offers that held it below `first`: those of `undone` that are live again.
 * No table keeps which offer held it in past blocks.
 */
async function restoreHeldOwnerships(
  connection: Statements,
  undone: readonly Ownership[],
  first: number
): Promise<void> {
  for (const page of pages(undone))
    await connection.query('UPDATE tokens SET escrow_action_index = NULL WHERE tick_id IN (?)', [
      page.map(({ tick }) => tick)
    ]);
  const stay = Map.groupBy(
    undone.filter(({ offer }) => offer < first),
    ({ kind }) => kind
  );
  for (const [kind, offers] of stay)
    for (const page of pages(offers))
      await connection.query(
        `UPDATE tokens t JOIN ${kind}s o ON o.give_tick_id = t.tick_id SET t.escrow_action_index = o.action_index
         WHERE o.action_index IN (?) AND (SELECT i.status FROM ${kind}_statuses s
           JOIN index_statuses i ON i.id = s.status_id WHERE s.${kind}_action_index = o.action_index
           ORDER BY s.action_index DESC LIMIT 1) IN (?)`,
        [page.map(({ offer }) => offer), LIVE_STATUSES]
      );
}

/** Pairs of address and token, and tokens, of one statement. */
const PAIRS_PER_STATEMENT = 1_000;
const TOKENS_PER_STATEMENT = 500;

interface Moved {
  readonly address_id: number;
  readonly tick_id: number;
  /** Credits less debits. */
  readonly held: bigint;
  /** Credits less debits, plus escrows. */
  readonly supply: bigint;
}

interface Undo {
  readonly moved: readonly Moved[];
  /** Tokens that an ISSUE changed. */
  readonly issued: ReadonlySet<number>;
}

async function readUndo(connection: Statements, height: number, action: number): Promise<Undo> {
  const firsts = await rows<{ action: number }>(
    connection,
    'SELECT MIN(action_index) AS action FROM actions WHERE block_index >= ? GROUP BY block_index ORDER BY block_index',
    [height]
  );
  const moved = new Map<string, Moved>();
  for (const [at, { action: first }] of firsts.entries()) {
    for (const { address_id, tick_id, held, supply } of await readMoved(connection, first, firsts[at + 1]?.action)) {
      const key = `${address_id}|${tick_id}`;
      const { held: heldBelow, supply: supplyBelow } = moved.get(key) ?? { held: 0n, supply: 0n };
      const sums = { held: heldBelow + readDecimal(held), supply: supplyBelow + readDecimal(supply) };
      moved.set(key, { address_id, tick_id, ...sums });
    }
  }
  const issued = await rows<{ tick_id: number }>(
    connection,
    `SELECT DISTINCT tick_id FROM issues WHERE action_index >= ? AND status_id = ${VALID_STATUS}`,
    [action]
  );
  return { moved: [...moved.values()], issued: new Set(issued.map(({ tick_id }) => tick_id)) };
}

/** Reads what the actions of one block moved. @param next first action of the block above; undefined for the newest */
async function readMoved(connection: Statements, first: number, next = Number.MAX_SAFE_INTEGER) {
  const amount = 'CAST(amount AS DECIMAL(60,18))';
  const part = (table: string, held: string, supply: string) =>
    `SELECT address_id, tick_id, ${held} AS held, ${supply} AS supply FROM ${table}
     WHERE action_index >= ${first} AND action_index < ${next}`;
  return await rows<Record<'address_id' | 'tick_id', number> & Record<'held' | 'supply', string>>(
    connection,
    `SELECT address_id, tick_id, SUM(held) AS held, SUM(supply) AS supply FROM (
       ${part('credits', amount, amount)} UNION ALL ${part('debits', `-${amount}`, `-${amount}`)}
       UNION ALL ${part('escrows', '0', amount)}) undone GROUP BY address_id, tick_id`
  );
}

/** Subtracts from balances what the undone actions moved, and makes tokens anew from the ISSUEs that are left. */
async function restore(connection: Statements, { moved, issued }: Undo, height: number): Promise<void> {
  for (const page of pages(moved, PAIRS_PER_STATEMENT)) await restoreBalances(connection, page, height);
  const supplies = new Map<number, bigint>();
  for (const { tick_id, supply } of moved) {
    supplies.set(tick_id, (supplies.get(tick_id) ?? 0n) + supply);
  }
  const ticks = [...new Set([...supplies.keys(), ...issued])];
  const tokens: Token[] = [];
  for (const page of pages(ticks, TOKENS_PER_STATEMENT))
    await restoreTokens(connection, page, { issued, supplies }, tokens);
  await writeTokens(connection, tokens);
  await checkSanity([connection], ticks);
}

/**
 * Subtracts from some balances what the undone actions moved. A row that an undone block deleted gets back the id that
 * it had then.
 */
async function restoreBalances(connection: Statements, moved: readonly Moved[], height: number): Promise<void> {
  const pairs = moved.map(({ address_id, tick_id }, n) => `(${n}, ${address_id}, ${tick_id})`).join(', ');
  const found = await rows<{ n: number; id: number | null; amount: string | null; ended: number | null }>(
    connection,
    `WITH w (n, a, t) AS (VALUES ${pairs}) SELECT w.n, b.id, b.amount,
       (SELECT u.id FROM balance_undo u WHERE u.address_id = w.a AND u.tick_id = w.t AND u.block_index >= ?
        ORDER BY u.block_index LIMIT 1) AS ended
     FROM w LEFT JOIN balances b ON b.address_id = w.a AND b.tick_id = w.t`,
    [height]
  );
  const deleted: number[] = [];
  const written: (readonly [address: number, tick: number, amount: string, id: number | null])[] = [];
  for (const { n, id, amount: present, ended } of found) {
    const { address_id, tick_id, held } = moved[Number(n)]!;
    const amount = (present === null ? 0n : readDecimal(present)) - held;
    if (id !== null && (amount === 0n || ended !== null)) deleted.push(id);
    if (amount !== 0n) written.push([address_id, tick_id, formatAmount(amount), ended]);
  }
  if (deleted.length > 0) await connection.query('DELETE FROM balances WHERE id IN (?)', [deleted]);
  if (written.length > 0)
    await connection.query(
      'INSERT INTO balances (address_id, tick_id, amount, id) VALUES ? ON DUPLICATE KEY UPDATE amount = VALUES(amount)',
      [written]
    );
}

async function readTokens(connection: Statements, ids: readonly number[]): Promise<Token[]> {
  const found = await rows<Record<string, string | number | null>>(
    connection,
    `SELECT t.*, i.tick, COALESCE(o.address, '') AS owner, c.tick AS callback_tick FROM tokens t
     JOIN index_tickers i ON i.id = t.tick_id LEFT JOIN index_addresses o ON o.id = t.owner_id
     LEFT JOIN index_tickers c ON c.id = t.callback_tick_id WHERE t.tick_id IN (?)`,
    [ids]
  );
  return found.map(readToken);
}

/** Adds some tokens as they were before the undone actions. */
async function restoreTokens(
  connection: Statements,
  ticks: readonly number[],
  { issued, supplies }: Pick<Undo, 'issued'> & { readonly supplies: ReadonlyMap<number, bigint> },
  tokens: Token[]
): Promise<void> {
  const found = await readTokens(connection, ticks);
  const replayed = await replay(
    connection,
    found.filter(({ id }) => issued.has(id))
  );
  for (const token of found) {
    // Which offer holds the ownership is no matter of ISSUEs.
    const { id, escrowActionIndex } = token;
    tokens.push({
      ...(replayed.get(id) ?? token),
      escrowActionIndex,
      supply: token.supply - (supplies.get(id) ?? 0n)
    });
  }
}
