/** The tables that indexers follow. */
export const STREAMED_TABLES = ['price_snapshots', 'oracle_prices'] as const;
export type StreamedTable = (typeof STREAMED_TABLES)[number];
