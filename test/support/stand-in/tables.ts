import { has, type Kind, quoted, type Table } from './database.ts';

/** A sync service's own tables, and those of one node. */
const NEVER = new Set(
  `sync_meta merkle_epochs merkle_reorgs sync_halt sync_state sync_undo schema_migrations mempool_transactions
   dispenser_extension_undo icons price_snapshots oracle_prices cross_chain_calls cross_chain_matches
   cross_chain_call_rejections capability_snapshots state_checkpoints bridge_transfers attestation_responses
   anchor_reward_attestations policy_snapshots list_snapshots remote_token_snapshots pending_hub_pushes
   hub_push_deliveries recovery_pending_rewards`.split(/\s+/)
);
/** In full snapshots alone; the nodes of the state tree are nobody's business, and travel there. */
const FULL_ONLY: Readonly<Record<Kind, readonly string[]>> = {
  indexer: [
    'markets',
    'attest_validator_stats',
    'pubkeys',
    'events',
    'push_generations',
    'state_tree_roots',
    'state_tree_nodes'
  ],
  decoder: ['dispensers']
};
/** Tables of which a follower hears nothing more after its full snapshot. */
export const UNSENT: Readonly<Record<Kind, readonly string[]>> = FULL_ONLY;
/** Rows that change any number of blocks after their own. */
const IN_PLACE = new Set(
  `tokens stakes contract_stakes delegations contract_delegations unstakes contract_unstakes polls attests xcalls
   bet_feeds bets anchor_actions validator_rewards`.split(/\s+/)
);
const COLUMN_OF_BLOCK: Readonly<Record<string, string>> = {
  rollcalls: 'close_block',
  rollcall_absences: 'close_block',
  rollcall_gates: 'close_block'
};
/** Tables whose `block_index` is not the block of their rows. */
const BY_ACTION = new Set(['anchor_actions']);
const FIRST = ['blocks', 'transactions', 'actions'];
const LAST = ['balances', 'sync_meta', 'pubkeys'];

/** Manner in which a server of another make sends one table. */
type Manner = 'never' | 'full only' | 'lookup' | 'block' | 'balances' | 'in place';

export function mannerOf(kind: Kind, table: Table): Manner {
  const { name } = table;
  if (NEVER.has(name)) return 'never';
  if (FULL_ONLY[kind].includes(name)) return 'full only';
  if (name.startsWith('index_') || (kind === 'decoder' && (name === 'pubkeys' || name === 'events'))) return 'lookup';
  if (kind === 'indexer' && name === 'balances') return 'balances';
  return blockSql(table, '= 0') === null ? 'in place' : 'block';
}

/** Also sent when it changes later; `block` tables among them when it is new. */
export const changesLater = (kind: Kind, { name }: Table): boolean => kind === 'indexer' && IN_PLACE.has(name);

/** The condition on alias `r` for rows of some blocks, say `= 5`; null where rows have no block. */
export function blockSql(table: Table, blocks: string): string | null {
  const { name } = table;
  const own = COLUMN_OF_BLOCK[name];
  if (own !== undefined) return `r.${own} ${blocks}`;
  if (name === 'tokens') return null;
  if (has(table, 'block_index') && !BY_ACTION.has(name)) return `r.block_index ${blocks}`;
  if (has(table, 'tx_index')) return `r.tx_index IN (SELECT tx_index FROM transactions WHERE block_index ${blocks})`;
  if (name === 'contract_emissions') return `r.execution_index IN (${actionsOf(blocks)})`;
  if (!has(table, 'action_index')) return null;
  return `r.action_index IN (${actionsOf(blocks)})`;
}

const actionsOf = (blocks: string): string => `SELECT action_index FROM actions WHERE block_index ${blocks}`;

/** The condition for refunds that these blocks wrote under older actions. */
export function refundSql(tables: readonly Table[], blocks: string): string | null {
  const found = tables.filter((table) => /^(contract_)?unstakes$/.test(table.name) && has(table, 'cooldown_end_block'));
  const parts = found.map(
    ({ name }) => `r.action_index IN (SELECT action_index FROM ${quoted(name)} WHERE cooldown_end_block ${blocks})`
  );
  return parts.length === 0 ? null : parts.join(' OR ');
}

/** The order of the tables in a body. */
export function inOrder(tables: readonly Table[]): Table[] {
  const rank = ({ name }: Table) => {
    if (name.startsWith('index_')) return -1;
    if (FIRST.includes(name)) return FIRST.indexOf(name);
    return LAST.includes(name) ? 100 + LAST.indexOf(name) : 50;
  };
  return tables.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}
