import { quoteName } from '../../../src/db/connection.ts';
import { givenOf } from './action-rows.ts';
import { ACTIONS } from './actions.ts';
import { BlockContext, CHAINS, type Setting } from './block-context.ts';
import { addBulk, analyze, type BulkRows, sqlHash } from './bulk.ts';
import { FIRST_HEIGHT, GENESIS_TIME } from './ledger.ts';
import { Lookups } from './lookups.ts';
import { RowBuffer } from './rows.ts';

export interface IndexerSize {
  readonly blocks: number;
  /** At least as many as blocks. */
  readonly actions: number;
  readonly tickers: number;
  readonly addresses: number;
  /** Balances; each comes from five credits and two debits. */
  readonly pairs: number;
}

const CREDITS_PER_PAIR = 5;
const DEBITS_PER_PAIR = 2;
/** Coprime to all sizes: visits each pair once, in no order. */
const STRIDE = 7_919;
/** Blocks that have one row of every small table: so many, evenly, of a long history, and some near the tip. */
const SAMPLED_BLOCKS = 150;
const SAMPLED_DEPTHS = [0, 1, 2, 5, 10, 20, 40, 60] as const;
const LONG_HISTORY = 1_000;
/** Depths, in blocks, of unstakes whose cooldown ends in each of the next blocks: when one is asked for, it is refunded. */
const PLANNED_DEPTHS = { unstakes: [1_000, 4_032, 10_080], contract_unstakes: [7, 144, 2_500, 9_000] } as const;
const PLANNED_BLOCKS = 512;
/** Ids that `addFirstValues` dealt. */
const FIRST_ADDRESS = 4;
const FIRST_TICKER = 2;

/** Blocks from the first height on, with actions spread evenly. */
export async function addIndexerHistory(setting: Setting, size: IndexerSize): Promise<void> {
  const { connection, tables } = setting;
  const lookups = await Lookups.load(connection);
  const filled = bulkTables(setting, size);
  for (const rows of filled) await addBulk(connection, tables, rows);
  await addTokens(setting);
  for (const { name } of ACTIONS.slice(0, 9)) await lookups.idOf('index_actions', name);
  const bulk = new Set([...filled.map(({ table }) => table), 'tokens']);
  await addSamples(setting, size, bulk);
  await addPlanned(setting, size);
  await analyze(connection, [...bulk]);
}

function bulkTables({ seed, chain }: Setting, size: IndexerSize): BulkRows[] {
  const { blocks, actions, tickers, addresses, pairs } = size;
  const blockOf = (action: string) => `${FIRST_HEIGHT} + (${action} - 1) * ${blocks} DIV ${actions}`;
  const actionOf = (count: number) => `1 + (seq - 1) * ${actions} DIV ${count}`;
  const hash = (text: string) => sqlHash(`${text} ${seed}`, 'seq');
  // Every seventh action is made by the system and has no transaction.
  const transactions = actions - Math.floor(actions / 7);
  const actionOfTransaction = 'seq + (seq - 1) DIV 6';
  const pair = `(seq * ${STRIDE}) MOD ${pairs}`;
  const address = (p: string) => `${FIRST_ADDRESS} + (${p}) MOD ${addresses}`;
  const tick = (p: string) =>
    `${FIRST_TICKER} + ((${p}) DIV ${addresses} + (${p}) MOD ${addresses} * 7) MOD ${tickers}`;
  const credited = (p: string) => `CONCAT(1000 + (${p}) MOD 977, '.', 1 + (${p}) MOD 9)`;
  const debited = (p: string) => `CONCAT((${p}) MOD 100, '.25')`;
  const held = (p: string) =>
    plain(
      `${CREDITS_PER_PAIR} * CAST(${credited(p)} AS DECIMAL(60,18)) - ${DEBITS_PER_PAIR} * CAST(${debited(p)} AS DECIMAL(60,18))`
    );
  const moved = (table: string, perPair: number, amount: (p: string) => string): BulkRows => ({
    table,
    count: pairs * perPair,
    columns: {
      action_index: actionOf(pairs * perPair),
      address_id: address(pair),
      tick_id: tick(pair),
      amount: amount(pair)
    }
  });
  const escrows = Math.floor(actions / 5);
  const sends = Math.floor(actions * 0.6);
  const ids = { valid: 1, memo: 'IF(seq MOD 3, NULL, 1 + seq MOD 3)' };
  return [
    { table: 'index_transactions', count: 4 * blocks + transactions, columns: { id: 'seq', hash: hash('hash') } },
    {
      table: 'index_addresses',
      count: addresses,
      columns: {
        id: `${FIRST_ADDRESS} + seq - 1`,
        address: `CONCAT('bc1q', LEFT(${hash('address')}, 38))`,
        // Those of before the column was there have none.
        block_index: `IF(seq <= ${Math.floor(addresses / 20)}, NULL, ${FIRST_HEIGHT} + seq * ${Math.floor(blocks / 2)} DIV ${addresses})`
      }
    },
    {
      table: 'index_tickers',
      count: tickers,
      columns: {
        id: `${FIRST_TICKER} + seq - 1`,
        // Some differ from another in the case of their letters only.
        tick: "IF(seq MOD 5, CONCAT('TICK', seq), CONCAT('tick', seq - 1))",
        block_index: `IF(seq <= ${Math.floor(tickers / 20)}, NULL, ${FIRST_HEIGHT} + seq * ${Math.floor(blocks / 2)} DIV ${tickers})`
      }
    },
    {
      table: 'blocks',
      count: blocks,
      columns: {
        block_index: `${FIRST_HEIGHT} + seq - 1`,
        block_time: `${GENESIS_TIME} + (${FIRST_HEIGHT} + seq - 1) * ${CHAINS[chain].blockSeconds}`,
        ledger_hash_id: '4 * seq - 3',
        actions_hash_id: '4 * seq - 2',
        contract_hash_id: '4 * seq - 1',
        state_hash_id: `IF(seq < ${Math.floor(blocks * 0.3)}, NULL, 4 * seq)`
      }
    },
    {
      table: 'transactions',
      count: transactions,
      columns: {
        tx_index: 'seq',
        block_index: blockOf(`(${actionOfTransaction})`),
        tx_hash_id: `${4 * blocks} + seq`,
        source_id: `${FIRST_ADDRESS} + seq MOD ${addresses}`,
        fee: 'IF(seq MOD 5, seq MOD 9973, NULL)',
        data: "CONCAT('SEND|0|TICK', seq MOD 97, '|', seq, '|😀')"
      }
    },
    {
      table: 'actions',
      count: actions,
      columns: {
        action_index: 'seq',
        block_index: blockOf('seq'),
        tx_index: 'IF(seq MOD 7, seq - seq DIV 7, NULL)',
        tx_vout: 'NULL',
        action_id: '1 + seq MOD 9',
        action_format: 'seq MOD 3',
        source_id: `${FIRST_ADDRESS} + seq MOD ${addresses}`
      }
    },
    moved('credits', CREDITS_PER_PAIR, credited),
    moved('debits', DEBITS_PER_PAIR, debited),
    {
      table: 'balances',
      count: pairs,
      columns: { id: 'seq', address_id: address('(seq - 1)'), tick_id: tick('(seq - 1)'), amount: held('(seq - 1)') }
    },
    {
      table: 'escrows',
      count: escrows,
      columns: {
        action_index: actionOf(escrows),
        address_id: address(pair),
        tick_id: tick(pair),
        amount: "CONCAT(IF(seq MOD 3, '', '-'), 1 + seq MOD 50, '.5')"
      }
    },
    {
      table: 'sends',
      count: sends,
      columns: {
        action_index: actionOf(sends),
        tick_id: tick(pair),
        destination_id: address(pair),
        amount: credited(pair),
        memo_id: ids.memo,
        status_id: `${ids.valid}`,
        leg_ordinal: 'seq MOD 4'
      }
    },
    {
      table: 'mappings_actions',
      count: 2 * actions,
      columns: {
        action_index: actionOf(2 * actions),
        type_id: '1 + seq MOD 2',
        id: `IF(seq MOD 2, ${FIRST_TICKER} + seq MOD ${tickers}, ${FIRST_ADDRESS} + seq MOD ${addresses})`
      }
    },
    {
      table: 'issues',
      count: tickers,
      columns: {
        action_index: actionOf(tickers),
        tick_id: `${FIRST_TICKER} + seq - 1`,
        max_supply: "'1000000'",
        decimals: "'18'",
        description: "CONCAT('token ', seq)",
        status_id: `${ids.valid}`
      }
    },
    {
      table: 'validator_rewards',
      count: Math.floor(actions / 10),
      columns: {
        source_id: `${FIRST_ADDRESS} + seq MOD 50`,
        signing_pubkey_id: '1 + seq MOD 6',
        reward_type: "'attest_fee'",
        round_reference: 'seq',
        amount: "CONCAT(seq MOD 89, '.125')",
        block_index: blockOf(`(1 + (seq - 1) * 10)`),
        derive_block_index: blockOf(`(1 + (seq - 1) * 10)`)
      }
    },
    {
      table: 'escrow_leaf_journal',
      count: escrows,
      columns: {
        address_id: address(pair),
        tick_id: tick(pair),
        locked_amount: "CONCAT(seq MOD 50, '.5')",
        block_index: blockOf(`(${actionOf(escrows)})`),
        action_index: actionOf(escrows)
      }
    },
    {
      table: 'contract_state',
      count: Math.floor(actions / 10),
      columns: {
        contract_index: '1 + seq MOD 50',
        state_key: "CONCAT('key ', seq MOD 200)",
        state_value: "CONCAT('\"', seq, ' é\"')",
        block_index: blockOf(`(1 + (seq - 1) * 10)`),
        action_index: '1 + (seq - 1) * 10'
      }
    },
    {
      table: 'pubkeys',
      count: Math.floor(addresses / 2),
      columns: { address_id: `${FIRST_ADDRESS} + 2 * seq - 2`, pubkey: `CONCAT('02', ${hash('key')})` }
    },
    {
      table: 'markets',
      count: Math.min(tickers - 1, 500),
      columns: {
        tick1_id: `${FIRST_TICKER} + seq - 1`,
        tick2_id: `${FIRST_TICKER} + seq`,
        tick1_price: "CONCAT('0.', seq, '1')",
        last_updated: `${GENESIS_TIME} + seq`
      }
    }
  ];
}

/** A decimal as the ledger writes it: no trailing zeros. */
const plain = (decimal: string) => `TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST(${decimal} AS CHAR)))`;

/** One token for each issue, with the supply that balances and escrows add up to. */
async function addTokens({ connection }: Setting): Promise<void> {
  const sum = (table: string) =>
    `(SELECT tick_id, SUM(CAST(amount AS DECIMAL(60,18))) AS amount FROM ${table} GROUP BY tick_id)`;
  await connection.query(
    `INSERT INTO tokens (tick_id, action_index, last_action_index, supply, max_supply, decimals, description, owner_id)
     SELECT i.tick_id, i.action_index, i.action_index, ${plain('COALESCE(b.amount, 0) + COALESCE(e.amount, 0)')}, '0', 18, i.description, 1 + i.tick_id MOD 50
     FROM issues i LEFT JOIN ${sum('balances')} b USING (tick_id) LEFT JOIN ${sum('escrows')} e USING (tick_id) ORDER BY i.action_index`
  );
}

/** Rows of every table that is not filled in bulk: what late changes of each depth need is there. */
async function addSamples(
  setting: Setting,
  { blocks, actions }: IndexerSize,
  bulk: ReadonlySet<string>
): Promise<void> {
  const tip = FIRST_HEIGHT + blocks - 1;
  const count = blocks < LONG_HISTORY ? 1 : SAMPLED_BLOCKS;
  const even = Array.from({ length: count }, (_, index) => FIRST_HEIGHT + Math.floor((index * blocks) / count));
  const near = SAMPLED_DEPTHS.map((depth) => tip - depth).filter((height) => height >= FIRST_HEIGHT);
  const heights = [...new Set([...even, ...near])].sort((a, b) => a - b);
  const sampled = new Set(ACTIONS.flatMap(({ tables }) => Object.keys(tables)).filter((table) => !bulk.has(table)));
  const lookups = await Lookups.load(setting.connection);
  const buffer = new RowBuffer();
  for (const height of heights) {
    const actionIndex = Math.ceil(((height - FIRST_HEIGHT) * actions) / blocks) + 1;
    const counters = {
      height: height - 1,
      lastTx: 1,
      lastAction: actionIndex,
      branch: 0,
      tip: { ledger: '', actions: '', contract: '' }
    };
    const time = GENESIS_TIME + height * CHAINS[setting.chain].blockSeconds;
    const context = new BlockContext(setting, counters, lookups, time, buffer);
    context.actionIndex = actionIndex;
    for (const table of sampled) {
      const rows = table === 'anchor_actions' ? 3 : 1;
      for (let ordinal = 0; ordinal < rows; ordinal += 1) context.add(table, await givenOf(context, table, ordinal));
    }
  }
  await buffer.flush(setting.connection);
  const completed = await lookups.idOf('index_statuses', 'completed');
  for (const table of ['unstakes', 'contract_unstakes'])
    await setting.connection.query(`UPDATE ${table} SET status_id = ${completed} WHERE cooldown_end_block <= ${tip}`);
}

/** Unstakes that only wait to be asked for: as their cooldown ends they are as deep as cooldowns are on some chain. */
async function addPlanned({ connection }: Setting, { blocks, actions }: IndexerSize): Promise<void> {
  const tip = FIRST_HEIGHT + blocks - 1;
  for (const [table, depths] of Object.entries(PLANNED_DEPTHS)) {
    const tick = table === 'contract_unstakes' ? `, ${FIRST_TICKER} + seq MOD 9` : '';
    for (const depth of depths) {
      const from = Math.max(1, FIRST_HEIGHT + depth - tip);
      const to = Math.min(PLANNED_BLOCKS, depth);
      if (from > to) continue;
      const block = `${tip} + seq - ${depth}`;
      await connection.query(
        `REPLACE INTO ${quoteName(table)} (action_index, source_id, signing_pubkey_id, cooldown_end_block, amount, status_id, block_index${tick && ', tick_id'})
         SELECT CEIL((${block} - ${FIRST_HEIGHT}) * ${actions} / ${blocks}) + 1, ${FIRST_ADDRESS} + seq MOD 20, 1, ${tip} + seq, CONCAT(1 + seq MOD 30, '.5'),
           (SELECT id FROM index_statuses WHERE status = 'planned'), ${block}${tick}
         FROM seq_${from}_to_${to}`
      );
    }
  }
}
