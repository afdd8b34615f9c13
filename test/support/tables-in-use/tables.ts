/** Tables of one node: no service carries them, and a replica's host may write them itself. */
export const NODE_TABLES = [
  'cross_chain_calls',
  'cross_chain_matches',
  'bridge_transfers',
  'oracle_prices',
  'price_snapshots',
  'capability_snapshots',
  'state_checkpoints',
  'policy_snapshots',
  'list_snapshots',
  'remote_token_snapshots',
  'anchor_reward_attestations',
  'attestation_responses',
  'pending_hub_pushes',
  'hub_push_deliveries',
  'recovery_pending_rewards',
  'icons',
  'cross_chain_call_rejections',
  'state_tree_nodes',
  'schema_migrations'
] as const;

/** Lookup tables of an indexer with the column that holds the value. */
export const LOOKUPS = {
  index_actions: 'action',
  index_addresses: 'address',
  index_coins: 'coin',
  index_fiats: 'code',
  index_memos: 'memo',
  index_mime_types: 'type',
  index_pubkeys: 'pubkey',
  index_statuses: 'status',
  index_tickers: 'tick',
  index_transactions: 'hash'
} as const;
export type LookupName = keyof typeof LOOKUPS;

/** Tables whose rows hang on a block by another column than `action_index`, with that column; a reorg deletes by it. */
export const BY_BLOCK: Readonly<Record<string, string>> = {
  contract_state: 'block_index',
  slash_events: 'block_index',
  contract_slash_debits: 'block_index',
  capability_slash_debits: 'block_index',
  capability_slash_events: 'block_index',
  contract_delegation_rotations: 'block_index',
  anchor_reward_reconcile_log: 'block_index',
  escrow_leaf_journal: 'block_index',
  validator_rewards: 'block_index',
  rollcalls: 'close_block',
  rollcall_absences: 'close_block',
  rollcall_gates: 'close_block',
  state_tree_roots: 'block_index',
  transactions: 'block_index',
  actions: 'block_index',
  blocks: 'block_index'
};
