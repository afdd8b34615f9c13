import { connect, rows } from '../../src/db/connection.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { databaseOn } from '../../src/devnet/settings.ts';
import type { Arena } from './arena.ts';
import type { Beside } from './beside.ts';
import { waitForBlock } from './fresh.ts';

/**
 * Decodes the chain once more, with SOURCE_HOP=always.
 *
 * @returns a line for each forged action that counts there, and for each honest one that does not
 */
export async function decodeWithHops(
  { database, node }: Platform,
  beside: Beside,
  { forged, own }: Arena['payloadIds'],
  signal: AbortSignal
): Promise<readonly string[]> {
  const place = databaseOn(database, 'decoder', 'hops_');
  const variables = { DECODER_DB_NAME: place.name, SOURCE_HOP: 'always' };
  const decoder = await beside.start('decoder', { name: 'hops', variables });
  const connection = await connect(place);
  try {
    await waitForBlock(database, place.name, await node.getHeight(), signal);
    const found = await rows<{ hash: string }>(
      connection,
      "SELECT h.hash FROM transactions t JOIN index_transactions h ON h.id = t.tx_hash_id WHERE t.data <> ''"
    );
    const known = new Set(found.map(({ hash }) => hash));
    return [
      ...forged.filter((txid) => known.has(txid)).map((txid) => `with hops, a forged action counts: ${txid}`),
      ...own.filter((txid) => !known.has(txid)).map((txid) => `with hops, an honest action is lost: ${txid}`)
    ];
  } finally {
    connection.destroy();
    await decoder.stop();
  }
}
