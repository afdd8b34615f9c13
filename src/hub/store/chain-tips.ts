import { type Connection, rows, type SqlRow } from '../../db/core/connection.ts';

/** The highest block of a network, as its indexer or tracker said last. */
export interface ChainTip extends SqlRow {
  readonly coin: string;
  readonly network: string;
  readonly block_height: number;
  /** Epoch seconds. */
  readonly block_time: number;
}

/** Every tip, by its network. */
export const selectTips = (connection: Connection): Promise<ChainTip[]> =>
  rows<ChainTip>(connection, 'SELECT coin, network, block_height, block_time FROM chain_tips ORDER BY coin, network');

/** The last one that is said counts, also when it is lower: a chain may have been reorganised. */
export async function upsertTip(connection: Connection, tip: ChainTip): Promise<void> {
  await connection.query(
    `INSERT INTO chain_tips (coin, network, block_height, block_time) VALUES (?)
     ON DUPLICATE KEY UPDATE block_height = VALUES(block_height), block_time = VALUES(block_time)`,
    [[tip.coin, tip.network, tip.block_height, tip.block_time]]
  );
}
