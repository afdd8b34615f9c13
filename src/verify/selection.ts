import { type Part, rowsInPart } from './part.ts';
import type { Column, Schema, Table } from './schema.ts';

/** The compared part of one table. */
export interface Selection {
  readonly name: string;
  /** SQL for FROM that yields the rows. */
  readonly from: string;
  /** Columns of both sides, without those that differ by design. */
  readonly columns: readonly Column[];
  /** Columns that identify a row; null when equal rows are counted instead. */
  readonly identity: readonly string[] | null;
  /** Column of the scope within which rows are compared in the order of an ignored id; null when order is ignored. */
  readonly order: { readonly scope: string; readonly by: string } | null;
  /** Whether the table has AUTO_INCREMENT ids that are not compared. */
  readonly ownIds: boolean;
  /** Whether the table has a height of its own. */
  readonly asOf: boolean;
}

/** Tables of one node that are never replicated. */
const NODE_LOCAL = new Set([
  'mempool_transactions',
  'merkle_reorgs',
  'state_tree_roots',
  'state_tree_nodes',
  'icons',
  'price_snapshots',
  'oracle_prices',
  'cross_chain_calls',
  'cross_chain_matches',
  'capability_snapshots',
  'state_checkpoints',
  'bridge_transfers',
  'attestation_responses',
  'pending_hub_pushes',
  'recovery_pending_rewards',
  'hub_push_deliveries',
  'policy_snapshots',
  'list_snapshots',
  'remote_token_snapshots',
  'anchor_reward_attestations',
  'cross_chain_call_rejections',
  'schema_migrations',
  'dispenser_extension_undo',
  'lookup_undo',
  'balance_undo',
  'market_undo',
  'deciding_actions',
  'trade_rests',
  'offer_edits',
  'list_counts',
  'open_orders',
  'price_blocks',
  'ledger_base',
  'decoder_base',
  'dispenser_watches',
  'dispenser_payments',
  'dispenser_extensions',
  'dispenser_extension_drops',
  'dispenser_holds',
  'dispenser_tills'
]);

/** Columns that each side fills itself, in addition to generated columns and ignored ids. */
const OWN_COLUMNS: ReadonlyMap<string, readonly string[]> = new Map([
  ['sync_meta', ['id', 'logged_at']],
  ['merkle_epochs', ['id', 'created_at']]
]);

/** Columns that tie a row to a block. They are compared even when AUTO_INCREMENT fills them. */
const SCOPES = ['block_index', 'tx_index', 'action_index'];

/** Returns whether a table belongs to one node or to its sync service. */
export function isLocal(name: string, furtherNames: ReadonlySet<string>): boolean {
  const isOwn = (name.startsWith('sync_') && name !== 'sync_meta') || name.startsWith('_gone_');
  return isOwn || NODE_LOCAL.has(name) || furtherNames.has(name);
}

/** Returns whether a table is one that a replica may have although its source does not. */
export function isControl(name: string): boolean {
  return name === 'sync_meta' || name === 'merkle_epochs';
}

/**
 * Decides what of a table is compared, from both definitions and the replica's part.
 *
 * @param local further tables that are never replicated
 * @param ids whether AUTO_INCREMENT ids are compared
 */
export function selectFrom(
  source: Table,
  replica: Table,
  schema: Schema,
  part: Part | null,
  { local, ids }: { readonly local: ReadonlySet<string>; readonly ids: boolean }
): Selection {
  const isDecoder = schema.tables.get('blocks')?.columns.some(({ name }) => name === 'block_hash_id') ?? false;
  const isLookup = source.name.startsWith('index_') || (isDecoder && source.name === 'pubkeys');
  const isOwn = ({ name, autoIncrement, generated }: Column): boolean => {
    if (generated || OWN_COLUMNS.get(source.name)?.includes(name)) return true;
    const referring = schema.referenced.get(`${source.name}.${name}`) ?? [];
    if (ids || !autoIncrement || SCOPES.includes(name) || !referring.every((table) => isLocal(table, local)))
      return false;
    return !(isLookup && name === 'id');
  };
  const replicaColumns = new Set(replica.columns.filter(({ generated }) => !generated).map(({ name }) => name));
  const columns = source.columns.filter((column) => !isOwn(column) && replicaColumns.has(column.name));
  const names = new Set(columns.filter(({ nullable }) => !nullable).map(({ name }) => name));
  const surrogate = source.columns.find((column) => column.autoIncrement && isOwn(column))?.name;
  const counter = source.columns.find(({ autoIncrement }) => autoIncrement)?.name;
  const keys = source.keys.filter(({ unique, columns: parts }) => unique && parts?.every((part) => names.has(part)));
  // If another column names the row, a different id means a changed row.
  const key = keys.find(({ columns: parts }) => !parts?.includes(counter ?? '')) ?? keys[0];
  const scope = SCOPES.find((name) => names.has(name));
  return {
    name: source.name,
    from: rowsInPart(part, source, schema),
    columns,
    identity: key?.columns ?? null,
    order:
      surrogate !== undefined && scope !== undefined && replicaColumns.has(surrogate) ? { scope, by: surrogate } : null,
    ownIds: surrogate !== undefined && !OWN_COLUMNS.has(source.name),
    asOf: isDecoder && source.name === 'dispensers'
  };
}
