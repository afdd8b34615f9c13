import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, rows } from '../../src/db/connection.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { startService } from '../../src/devnet/processes/process.ts';
import { orderOf, planOf } from '../../src/devnet/services.ts';
import { type DevnetSettings, databaseOn } from '../../src/devnet/settings.ts';
import type { Arena } from './arena.ts';
import { waitForBlock } from './fresh.ts';

/**
 * Decodes the chain once more, with SOURCE_HOP=always and with payloads in taproot scripts.
 *
 * @returns a line for each forged action that counts there, and for each honest one that does not
 */
export async function decodeWithHops(
  platform: Platform,
  settings: DevnetSettings,
  { forged, own }: Arena['told'],
  signal: AbortSignal
): Promise<readonly string[]> {
  const { database, coin, node } = platform;
  const hopping = { ...settings, ports: { ...settings.ports, decoder: await freePort() } };
  const order = orderOf(hopping, planOf(hopping, database, coin), 'decoder');
  const profile = join(settings.directory, 'hops.json');
  writeFileSync(profile, JSON.stringify({ name: 'hops', activations: { TAPROOT_ENVELOPE: 0 } }));
  const place = databaseOn(database, 'decoder', 'hops_');
  const decoder = await startService(
    {
      ...order,
      name: 'hops-decoder',
      env: { ...order.env, DECODER_DB_NAME: place.name, SOURCE_HOP: 'always', PLATFORM_PROFILE: profile },
      directory: `${order.directory}-hops`,
      logFile: order.logFile.replace(/\.log$/, '-hops.log')
    },
    signal
  );
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
