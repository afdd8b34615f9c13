import {
  type ActionRow,
  actionsHash,
  contractHash,
  type LedgerRow,
  ledgerHash
} from '../../../src/consensus/ledger-hashes.ts';
import { type Connection, rows } from '../../../src/db/connection.ts';
import type { Layout } from './layout.ts';

/** Blocks whose rows are in memory at once. */
const BLOCKS = 500;
/** Tables of which rows are hashed in a way that no document says. */
const CONTRACT_ROWS: Readonly<Record<string, string>> = {
  contracts: 'action_index',
  contract_executions: 'action_index',
  contract_emissions: 'execution_index',
  deposits: 'action_index',
  withdrawals: 'action_index',
  contract_state: 'block_index'
};
const MOVED = ['credits', 'debits', 'escrows'] as const;
/** Tables of stakes that cool down: what comes back is written under the action that asked for it, in a later block. */
const COOLING = ['unstakes', 'contract_unstakes'];

interface BlockRow {
  readonly height: number;
  readonly ledger: string | null;
  readonly actions: string | null;
  readonly contract: string | null;
}
type Moved = LedgerRow & { readonly height: number };

/** Blocks of a walk, and what was wrong. */
interface HashResult {
  readonly blocks: number;
  /** Blocks with rows of contracts, whose hash was not computed. */
  readonly withContracts: number;
  readonly faults: readonly string[];
}

/**
 * Computes the hashes of each block from its rows and from the hashes of the block below, as they are stored: a wrong
 * block is told once.
 *
 * @param roles names of well-known addresses, by address
 */
export async function checkHashes(
  connection: Connection,
  layout: Layout,
  roles: ReadonlyMap<string, string>
): Promise<HashResult> {
  const faults: string[] = [];
  let [blocks, withContracts] = [0, 0];
  let below: BlockRow | undefined;
  for (let from = 0; ; ) {
    const page = await readBlocks(connection, from);
    if (page.length === 0) return { blocks, withContracts, faults };
    const [first, last] = [page[0]!.height, page.at(-1)!.height];
    const actions = await readActions(connection, first, last);
    const moved = await readMoved(connection, layout, first, last);
    const contracts = await readContractBlocks(connection, layout, first, last);
    for (const block of page) {
      const at = (previous: string | null | undefined) => ({
        blockIndex: block.height,
        previousHash: below === undefined ? undefined : String(previous)
      });
      const rowsOf = (name: (typeof MOVED)[number]) => moved[name].get(block.height) ?? [];
      const parts = { credits: rowsOf('credits'), debits: rowsOf('debits'), escrows: rowsOf('escrows') };
      const computed = {
        ledger: ledgerHash(parts, at(below?.ledger), roles),
        actions: actionsHash(actions.get(block.height) ?? [], at(below?.actions)),
        contract: contracts.has(block.height) ? block.contract : contractHash({}, at(below?.contract))
      };
      for (const name of ['ledger', 'actions', 'contract'] as const)
        if (computed[name] !== block[name])
          faults.push(`block ${block.height}: the ${name} hash is ${block[name]}, of its rows ${computed[name]}`);
      blocks++;
      withContracts += Number(contracts.has(block.height));
      below = block;
    }
    from = last + 1;
  }
}

function readBlocks(connection: Connection, from: number): Promise<BlockRow[]> {
  return rows<BlockRow & Record<string, unknown>>(
    connection,
    `SELECT b.block_index AS height, l.hash AS ledger, a.hash AS actions, c.hash AS contract FROM blocks b
     LEFT JOIN index_transactions l ON l.id = b.ledger_hash_id LEFT JOIN index_transactions a ON a.id = b.actions_hash_id
     LEFT JOIN index_transactions c ON c.id = b.contract_hash_id
     WHERE b.block_index >= ? ORDER BY b.block_index LIMIT ${BLOCKS}`,
    [from]
  );
}

async function readActions(connection: Connection, first: number, last: number): Promise<Map<number, ActionRow[]>> {
  return byHeight(
    await rows<ActionRow & { height: number } & Record<string, unknown>>(
      connection,
      `SELECT t.block_index AS height, t.action_index, t.tx_index, n.action FROM actions t
       JOIN index_actions n ON n.id = t.action_id WHERE t.block_index BETWEEN ? AND ?`,
      [first, last]
    )
  );
}

async function readMoved(
  connection: Connection,
  { has }: Layout,
  first: number,
  last: number
): Promise<Record<(typeof MOVED)[number], Map<number, Moved[]>>> {
  const cooling = COOLING.filter((table) => has(table, 'action_index', 'cooldown_end_block'));
  const isCooling = cooling.map((table) => `EXISTS (SELECT 1 FROM ${table} u WHERE u.action_index = t.action_index)`);
  const read = async (table: (typeof MOVED)[number]) => {
    const select = (height: string, join: string, where: string) =>
      rows<Moved & Record<string, unknown>>(
        connection,
        `SELECT ${height} AS height, t.action_index, d.address, k.tick, t.amount FROM ${table} t ${join}
         JOIN index_addresses d ON d.id = t.address_id JOIN index_tickers k ON k.id = t.tick_id WHERE ${where}`,
        [first, last]
      );
    const others = isCooling.length > 0 && table === 'credits' ? ` AND NOT (${isCooling.join(' OR ')})` : '';
    const found = [
      await select('a.block_index', 'JOIN actions a USING (action_index)', `a.block_index BETWEEN ? AND ?${others}`)
    ];
    if (table === 'credits')
      for (const each of cooling)
        found.push(
          await select(
            'u.cooldown_end_block',
            `JOIN ${each} u USING (action_index)`,
            'u.cooldown_end_block BETWEEN ? AND ?'
          )
        );
    return byHeight(found.flat());
  };
  return { credits: await read('credits'), debits: await read('debits'), escrows: await read('escrows') };
}

/** Returns the heights of blocks that have rows of contracts. */
async function readContractBlocks(
  connection: Connection,
  { has }: Layout,
  first: number,
  last: number
): Promise<ReadonlySet<number>> {
  const heights = new Set<number>();
  for (const [table, column] of Object.entries(CONTRACT_ROWS)) {
    if (!has(table, column)) continue;
    const join = column === 'block_index' ? '' : `JOIN actions a ON a.action_index = t.${column}`;
    const found = await rows<{ height: number }>(
      connection,
      `SELECT DISTINCT block_index AS height FROM (SELECT ${join === '' ? 't' : 'a'}.block_index FROM ${table} t ${join}) x
       WHERE block_index BETWEEN ? AND ?`,
      [first, last]
    );
    for (const { height } of found) heights.add(height);
  }
  return heights;
}

function byHeight<T extends { readonly height: number }>(found: readonly T[]): Map<number, T[]> {
  return Map.groupBy(found, ({ height }) => height);
}
