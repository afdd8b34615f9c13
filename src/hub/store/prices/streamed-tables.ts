/** The tables that indexers follow. */
export const STREAMED_TABLES = ['price_snapshots', 'oracle_prices'] as const;
export type StreamedTable = (typeof STREAMED_TABLES)[number];

/** Tables of hubs with consensus: mirrors in use ask for them too, and here they have no rows. */
export const EMPTY_TABLES = [
  'cross_chain_matches',
  'capability_snapshots',
  'cross_chain_calls',
  'state_checkpoints',
  'anchor_reward_attestations'
] as const;
