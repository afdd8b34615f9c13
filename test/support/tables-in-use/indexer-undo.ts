import { parseAmount } from '../../../src/consensus/amount.ts';
import { type Connection, quoteName, rows } from '../../../src/db/connection.ts';
import type { TableDefinition } from '../../../src/indexer/definitions/definition.ts';
import { CHAINS, type Setting } from './block-context.ts';
import { Movements } from './movements.ts';
import { RowBuffer, sqlTime } from './rows.ts';
import { BY_BLOCK, NODE_TABLES } from './tables.ts';

/** Tables with an `action_index` whose rows do not go with that action. */
const NOT_BY_ACTION: ReadonlySet<string> = new Set([...Object.keys(BY_BLOCK), ...NODE_TABLES]);

/** Tables whose rows hang on an action, by the column that names it. */
function actionColumns(tables: ReadonlyMap<string, TableDefinition>): [table: string, column: string][] {
  const found: [string, string][] = [];
  for (const [table, { columns }] of tables) {
    if (NOT_BY_ACTION.has(table)) continue;
    if (table === 'contract_emissions') found.push([table, 'execution_index']);
    else if (columns.some(({ name }) => name === 'action_index')) found.push([table, 'action_index']);
  }
  return found;
}

/**
 * Takes back every block from a height on, as an indexer does: not the inverse of what the blocks did. Runs in the caller's transaction.
 *
 * Lookups without a stamp, events, counters of validators, prices of tokens and markets stay; changes that left a stamp or a log
 * are put back; balances and supplies follow from what remains; ids of addresses and tickers are dealt again.
 */
export async function undoIndexer(setting: Setting, fork: number, tip: number): Promise<void> {
  const { connection, tables, chain } = setting;
  const run = (sql: string, values: readonly unknown[] = []) => connection.query(sql, values as unknown[]);
  const [first] = await rows<{ action: number | null }>(
    connection,
    `SELECT MIN(action_index) AS action FROM actions WHERE block_index >= ${fork}`
  );
  const action = Number(first?.action ?? Number.MAX_SAFE_INTEGER);
  const refunds = await maturedSince(connection, fork, tip);
  const movements = new Movements(connection, new RowBuffer());
  await countBack(connection, movements, action, refunds);
  await putBackInPlace(connection, fork, tip, action, CHAINS[chain].delay);
  if (refunds.length > 0) {
    await run(`DELETE FROM credits WHERE ${REFUNDS.credits(refunds)}`);
    await run(`DELETE FROM escrows WHERE ${REFUNDS.escrows(refunds)}`);
  }
  await putBackTokens(connection, action);
  for (const [table, column] of actionColumns(tables))
    await run(`DELETE FROM ${quoteName(table)} WHERE ${column} >= ${action}`);
  await run(`DELETE FROM validator_rewards WHERE derive_block_index >= ${fork}`);
  await putBackRewards(connection, fork);
  for (const [table, column] of Object.entries(BY_BLOCK)) await run(`DELETE FROM ${table} WHERE ${column} >= ${fork}`);
  for (const table of ['index_addresses', 'index_tickers'])
    await run(`DELETE FROM ${table} WHERE block_index >= ${fork}`);
  await run('DELETE FROM pubkeys WHERE address_id > (SELECT COALESCE(MAX(id), 0) FROM index_addresses)');
  await run(
    'DELETE FROM markets WHERE tick1_id > (SELECT MAX(id) FROM index_tickers) OR tick2_id > (SELECT MAX(id) FROM index_tickers)'
  );
  await movements.settle();
  await run(
    'INSERT INTO push_generations (coin, generation) VALUES (?, 1) ON DUPLICATE KEY UPDATE generation = generation + 1',
    [CHAINS[chain].coin]
  );
  for (let height = tip; height >= fork; height -= 1)
    await run("INSERT INTO events (time, code, data) VALUES (?, 'REORG', ?)", [
      sqlTime(1_700_000_000 + height),
      JSON.stringify({ block_index: height })
    ]);
}

/** Actions below the fork whose cooldown ended in the blocks that go. */
async function maturedSince(connection: Connection, fork: number, tip: number): Promise<number[]> {
  const found: number[] = [];
  for (const table of ['unstakes', 'contract_unstakes']) {
    const list = await rows<{ action_index: number }>(
      connection,
      `SELECT action_index FROM ${table} WHERE cooldown_end_block BETWEEN ${fork} AND ${tip}
         AND status_id = (SELECT id FROM index_statuses WHERE status = 'completed')`
    );
    found.push(...list.map(({ action_index }) => Number(action_index)));
  }
  return found;
}

/** The rows of refunds among those of the actions whose cooldown ended; the action's own credits stay. */
const REFUNDS = {
  escrows: (actions: readonly number[]) => `action_index IN (${actions.join()}) AND amount LIKE '-%'`,
  credits: (actions: readonly number[]) =>
    `(action_index, address_id, tick_id, CONCAT('-', amount)) IN
       (SELECT action_index, address_id, tick_id, amount FROM escrows WHERE ${REFUNDS.escrows(actions)})`
} as const;

/** Subtracts what the rows that go had moved, before they go. */
async function countBack(
  connection: Connection,
  movements: Movements,
  action: number,
  refunds: readonly number[]
): Promise<void> {
  for (const [table, sign, moves] of [
    ['credits', -1n, true],
    ['debits', 1n, true],
    ['escrows', -1n, false]
  ] as const) {
    const late = refunds.length > 0 && table !== 'debits' ? ` OR ${REFUNDS[table](refunds)}` : '';
    const found = await rows<{ address_id: number; tick_id: number; amount: string }>(
      connection,
      `SELECT address_id, tick_id, amount FROM ${table} WHERE action_index >= ${action}${late}`
    );
    for (const { address_id, tick_id, amount } of found) {
      const moved = sign * exact(amount);
      movements.shift(Number(address_id), Number(tick_id), moves ? moved : 0n, moved);
    }
  }
}

async function putBackInPlace(
  connection: Connection,
  fork: number,
  tip: number,
  action: number,
  delay: number
): Promise<void> {
  const run = (sql: string) => connection.query(sql);
  for (const table of ['stakes', 'contract_stakes', 'delegations', 'contract_delegations'])
    await run(`UPDATE ${table} SET deactivation_block = NULL WHERE deactivation_block >= ${fork + delay}`);
  const status = (text: string) => `(SELECT id FROM index_statuses WHERE status = '${text}')`;
  for (const table of ['unstakes', 'contract_unstakes'])
    await run(
      `UPDATE ${table} SET status_id = ${status('valid')} WHERE cooldown_end_block BETWEEN ${fork} AND ${tip} AND status_id = ${status('completed')}`
    );
  for (const [log, targets] of [
    ['capability_slash_debits', ['stakes', 'unstakes']],
    ['contract_slash_debits', ['contract_stakes', 'contract_unstakes']]
  ] as const)
    for (const table of targets)
      await run(
        `UPDATE ${table} t JOIN ${log} l ON l.stake_action_index = t.action_index AND l.target_table = '${table}' SET t.amount = l.prev_amount WHERE l.block_index >= ${fork}`
      );
  for (const table of ['contract_stakes', 'contract_unstakes'])
    await run(
      `UPDATE ${table} t JOIN (SELECT stake_action_index, MIN(prev_signing_pubkey_id) AS pubkey FROM contract_delegation_rotations
         WHERE target_table = '${table}' AND block_index >= ${fork} GROUP BY 1) l ON l.stake_action_index = t.action_index SET t.signing_pubkey_id = l.pubkey`
    );
  await run(
    `UPDATE polls SET poll_status = 'open', winning_option = NULL, total_weight = NULL, resolved_block = NULL, effective_close_block = NULL, finalized_action_index = NULL WHERE resolved_block >= ${fork}`
  );
  await run(
    `UPDATE polls SET callback_due_block = NULL, callback_execute_action_index = NULL WHERE callback_due_block >= ${fork}`
  );
  await run(`UPDATE attests SET request_status = 'pending', resolved_block = NULL WHERE resolved_block >= ${fork}`);
  await run(
    `UPDATE xcalls SET request_status = 'pending', result_status = NULL, resolved_block = NULL WHERE resolved_block >= ${fork}`
  );
  for (const [table, column] of [
    ['attests', 'callback_execute_action_index'],
    ['attests', 'batch_action_index'],
    ['xcalls', 'callback_action_index'],
    ['tokens', 'escrow_action_index']
  ] as const)
    await run(`UPDATE ${table} SET ${column} = NULL WHERE ${column} >= ${action}`);
  for (const column of ['closed_block', 'terminal_block'])
    await run(`UPDATE bet_feeds SET ${column} = NULL WHERE ${column} >= ${fork}`);
  await run(`UPDATE bets SET settled_block = NULL, bet_status_id = ${status('open')} WHERE settled_block >= ${fork}`);
}

/** Fields come from the newest issue that remains; the token of an issue that goes is gone with it, as every row of its action. */
async function putBackTokens(connection: Connection, action: number): Promise<void> {
  await connection.query(
    `UPDATE tokens t SET description = (SELECT i.description FROM issues i WHERE i.tick_id = t.tick_id AND i.action_index < ${action} ORDER BY i.action_index DESC LIMIT 1),
       last_action_index = action_index WHERE last_action_index >= ${action} AND action_index < ${action}`
  );
}

/** Losers that were deleted come back from the log, under new ids. */
async function putBackRewards(connection: Connection, fork: number): Promise<void> {
  await connection.query(
    `INSERT IGNORE INTO validator_rewards (source_id, signing_pubkey_id, reward_type, round_reference, round_qualifier, amount, block_index, derive_block_index)
     SELECT source_id, signing_pubkey_id, reward_type, round_reference, round_qualifier, amount, reward_block_index, reward_derive_block_index
     FROM anchor_reward_reconcile_log WHERE block_index >= ${fork} AND COALESCE(reward_derive_block_index, reward_block_index) < ${fork} ORDER BY id`
  );
}

function exact(text: string): bigint {
  return text.startsWith('-') ? -(parseAmount(text.slice(1)) ?? 0n) : (parseAmount(text) ?? 0n);
}
