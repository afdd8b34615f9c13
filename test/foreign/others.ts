import { connect } from '../../src/db/connection.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { createDatabase } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { createLedger } from '../support/tables-in-use/ledger.ts';

/** An explorer, and what to ask it for. */
export interface Target {
  readonly url: string;
  /** By the words of `{TYPE}` and of other parts of paths. */
  readonly subjects: Readonly<Record<string, readonly string[]>>;
  /** `{QUERY}` by the method of a path without `{TYPE}`; of others it is 1. */
  readonly named: Readonly<Record<string, string | undefined>>;
}

/** Starts an explorer over databases of the tables in use, with rows in every table that an explorer reads. */
export async function startOverOthers(): Promise<Target & { readonly indexer: DatabaseCoordinates }> {
  const databases = {
    indexer: await createDatabase('others_indexer'),
    decoder: await createDatabase('others_decoder')
  };
  for (const dbType of ['decoder', 'indexer'] as const) {
    const connection = await connect(databases[dbType]);
    const ledger = await createLedger(connection, { dbType, seed: 'others' });
    await ledger.writeBlocks(5, { actions: 'each' });
    const late = (['stakeSlashed', 'contractStakeSlashed', 'validatorCounted', 'pollFinalized'] as const).map(
      (kind) => ({
        kind,
        depth: 1
      })
    );
    await ledger.writeBlock({ actions: 'each', ...(dbType === 'indexer' ? { late } : {}) });
    await ledger.writeNodeRows();
    await connection.end();
  }
  const { indexer } = databases;
  const texts = async (column: string, from: string) =>
    (await sql(indexer, `SELECT DISTINCT ${column} AS text FROM ${from} LIMIT 12`)).map(({ text }) => String(text));
  const token = await texts('i.tick', 'index_tickers i JOIN tokens t ON t.tick_id = i.id ORDER BY 1');
  await addTrades(indexer, token);
  const { url } = await startExplorer(databases, { EXPLORER_RATE_LIMIT_RPM: '1000000' });
  await sql(
    indexer,
    "UPDATE fees SET native_coin_amount = '0.5', xchain_amount = '0.25'",
    "UPDATE polls SET min_vote_balance = '1'"
  );
  const holding = 'balances b JOIN index_addresses a ON a.id = b.address_id JOIN index_tickers i ON i.id = b.tick_id';
  const trading =
    'orders o JOIN actions x ON x.action_index = o.action_index JOIN index_addresses a ON a.id = x.source_id';
  const address = [
    ...(await texts('a.address', `${trading} WHERE o.give_amount = '${LEFT}'`)),
    ...(await texts('a.address', 'validator_rewards r JOIN index_addresses a ON a.id = r.source_id')),
    ...(await texts('a.address', "index_addresses a WHERE a.address > '' ORDER BY 1"))
  ];
  const indexes = await texts('action_index', 'actions ORDER BY 1 DESC');
  const subjects = {
    address,
    source: address,
    destination: address,
    oracle: address,
    delegator: address,
    delegate: address,
    token,
    tick: token,
    subtoken: token.slice(0, 1),
    block: await texts('block_index', 'blocks ORDER BY 1 DESC'),
    dispenser: indexes,
    contract: indexes,
    poll: indexes,
    feed: indexes,
    status: ['open', 'valid'],
    recent: ['all'],
    name: ['hi'],
    tx_index: ['1', '2'],
    tx_hash: await texts('i.hash', 'transactions x JOIN index_transactions i ON i.id = x.tx_hash_id')
  };
  const [holder, held] = [(await texts('a.address', holding))[0], (await texts('i.tick', holding))[0]];
  const named = {
    holders: held,
    token: held,
    search: held?.slice(0, 2),
    balances: holder,
    address: holder,
    staking: holder,
    contract: (await texts('contract_index', 'contract_state'))[0],
    execution: (await texts('action_index', 'contract_executions'))[0],
    poll: (await texts('poll_index', 'poll_results WHERE poll_index IS NOT NULL AND option_index IS NOT NULL'))[0]
  };
  return { url, subjects, named, indexer };
}

/** Remaining amount of the orders of `addTrades`. */
const LEFT = '7.5';

/**
 * Makes the newest orders and matches, of one address, trade the first token for the second, and for the chain's coin, as indexers in use write that: an
 * order has no ticker for the coin, a match and a market have 0.
 */
async function addTrades(indexer: DatabaseCoordinates, [first, second]: readonly string[]): Promise<void> {
  const idOf = (tick = '') => `(SELECT id FROM index_tickers WHERE tick = '${tick}')`;
  const status = (text: string) => `(SELECT MIN(id) FROM index_statuses WHERE status = '${text}')`;
  const coin = "(SELECT id FROM index_coins WHERE coin = 'BTC')";
  const trader = "(SELECT MIN(id) FROM index_addresses WHERE address LIKE 'bc1q%')";
  const sides = (get: string) =>
    `give_tick_id = ${idOf(first)}, get_tick_id = ${get}, give_coin_id = ${coin}, get_coin_id = ${coin}`;
  for (const [place, get] of [idOf(second), 'NULL'].entries()) {
    const at = (table: string) =>
      `(SELECT action_index FROM (SELECT action_index FROM ${table} ORDER BY 1 DESC LIMIT 1 OFFSET ${place}) x)`;
    const matched = get === 'NULL' ? '0' : get;
    await sql(
      indexer,
      `UPDATE orders SET ${sides(get)}, give_amount = '${LEFT}', get_amount = '15', give_ownership = 0, get_ownership = 0,
         status_id = ${status('valid')} WHERE action_index = ${at('orders')}`,
      `UPDATE actions SET source_id = ${trader} WHERE action_index = ${at('orders')}`,
      `DELETE FROM order_statuses WHERE order_action_index = ${at('orders')}`,
      `INSERT INTO order_statuses (action_index, order_action_index, status_id) SELECT o, o, ${status('open')} FROM (SELECT ${at('orders')} AS o) x`,
      `UPDATE order_matches SET ${sides(matched)}, give_amount = '2.5', get_amount = '5', status_id = ${status('valid')},
         give_action_index = ${at('orders')}, get_action_index = ${at('orders')} WHERE action_index = ${at('order_matches')}`,
      `INSERT INTO markets (tick1_id, tick1_price, tick1_bid, tick1_ask, tick1_24hr_price, tick1_24hr_high, tick1_24hr_low,
         tick1_24hr_change, tick1_24hr_volume, tick2_id, tick2_price, tick2_bid, tick2_ask, tick2_24hr_price, tick2_24hr_high,
         tick2_24hr_low, tick2_24hr_change, tick2_24hr_volume, last_updated, coin1_id, coin2_id)
       VALUES (${idOf(first)}, '2', '2', '2', '0', '2', '2', '0.00', '2.5', ${matched}, '0.5', '0.5', '0.5', '0', '0.5', '0.5', '0.00', '5',
         1700000000, ${coin}, ${coin})
       ON DUPLICATE KEY UPDATE tick1_price = '2', tick2_price = '0.5'`
    );
  }
}
