import { type Connection, rows, type SqlRow } from '../../db/connection.ts';

/** The highest block of a network, as its indexer or tracker said last. */
interface ChainTip extends SqlRow {
  readonly coin: string;
  readonly network: string;
  readonly block_height: number;
  /** Epoch seconds. */
  readonly block_time: number;
}

/** A tip, and how long it has been known. */
export interface KnownTip extends ChainTip {
  readonly age_s: number;
  /** Whether a caller with the key, or on the hub's machine, said it. */
  readonly trusted: boolean;
}

/** Names of networks that are kept. */
const MOST_TIPS = 256;
/** A tip that is older counts no more against what anybody else says. */
const FRESH_S = 86_400;

/** Reads every tip, by its network. */
export async function selectTips(connection: Connection): Promise<KnownTip[]> {
  const found = await rows<ChainTip & { age_s: number; trusted: number }>(
    connection,
    `SELECT coin, network, block_height, block_time, trusted, UNIX_TIMESTAMP() - UNIX_TIMESTAMP(updated_at) AS age_s
       FROM chain_tips ORDER BY coin, network`
  );
  return found.map((tip) => ({ ...tip, age_s: Number(tip.age_s), trusted: Boolean(tip.trusted) }));
}

/** Returns the height of Bitcoin as a trusted caller pushed it; null where it is not known. */
export async function selectBitcoinHeight(connection: Connection): Promise<number | null> {
  const [tip] = await rows<{ height: number }>(
    connection,
    `SELECT block_height AS height FROM chain_tips
      WHERE LOWER(coin) IN ('bitcoin', 'btc') AND LOWER(network) = 'mainnet' AND trusted ORDER BY updated_at DESC LIMIT 1`
  );
  return tip?.height ?? null;
}

/**
 * Writes a tip. The last one counts, also when it is lower, for a chain may have been reorganised; and in its spelling,
 * for names that differ in case only are one. A stranger's tip replaces a trusted one only after a day. Of strangers'
 * networks the stalest goes when there are too many.
 *
 * @returns why it was not kept; null when it was
 */
export async function upsertTip(connection: Connection, tip: ChainTip, trusted: boolean): Promise<string | null> {
  const { coin, network, block_height, block_time } = tip;
  const isOf = 'LOWER(coin) = LOWER(?) AND LOWER(network) = LOWER(?)';
  const known = await rows<{ fresh: number }>(
    connection,
    `SELECT trusted AND updated_at > NOW() - INTERVAL ${FRESH_S} SECOND AS fresh FROM chain_tips WHERE ${isOf}`,
    [coin, network]
  );
  if (!trusted && known.some(({ fresh }) => fresh)) return 'a trusted indexer told of this network within a day';
  if (known.length === 0 && !trusted) await makeRoom(connection);
  await connection.query(`DELETE FROM chain_tips WHERE ${isOf} AND NOT (coin = ? AND network = ?)`, [
    coin,
    network,
    coin,
    network
  ]);
  await connection.query(
    `INSERT INTO chain_tips (coin, network, block_height, block_time, trusted, updated_at) VALUES (?, NOW())
     ON DUPLICATE KEY UPDATE block_height = VALUES(block_height), block_time = VALUES(block_time),
       trusted = VALUES(trusted), updated_at = NOW()`,
    [[coin, network, block_height, block_time, trusted]]
  );
  return null;
}

async function makeRoom(connection: Connection): Promise<void> {
  const [counted] = await rows<{ n: number }>(connection, 'SELECT COUNT(*) AS n FROM chain_tips');
  const surplus = Number(counted?.n ?? 0) - MOST_TIPS + 1;
  if (surplus > 0)
    await connection.query('DELETE FROM chain_tips WHERE NOT trusted ORDER BY updated_at LIMIT ?', [surplus]);
}
