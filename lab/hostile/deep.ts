import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { connect, rows } from '../../src/db/connection.ts';
import type { Platform } from '../../src/devnet/platform.ts';
import { databaseOn } from '../../src/devnet/settings.ts';
import type { Beside } from './beside.ts';
import { freshDatabases, waitForBlock } from './fresh.ts';

/** More blocks than those for which a decoder keeps dispensers that ended. */
const DEPTH = 130;
const DEADLINE_MS = 60_000;
const REFUSAL = /the actor is parked: block \d+ cannot be rolled back/;

/**
 * Replaces more blocks than a decoder can undo, and lets one of its own go on all the same, as an operator would. It must halt, and
 * then refuse: it no longer knows which dispensers were open. No service of the platform is of use afterwards.
 *
 * @returns a line for each thing that was otherwise
 */
export async function replaceTooMany(
  { database }: Platform,
  rpc: NodeRpc,
  beside: Beside,
  signal: AbortSignal
): Promise<readonly string[]> {
  const place = databaseOn(database, 'decoder', 'fresh_');
  const order = { name: 'deep', variables: freshDatabases(database) };
  const address = await rpc.call('getnewaddress', ['', 'bech32']);
  const [first] = (await rpc.call('generatetoaddress', [DEPTH, address])) as readonly string[];
  const connection = await connect(place);
  try {
    const decoder = await beside.start('decoder', order);
    await waitForBlock(database, place.name, Number(await rpc.call('getblockcount')), signal);
    await rpc.call('invalidateblock', [first]);
    // Where the node's clock stands still, blocks with the same receiver would be the ones that are replaced.
    const rival = await rpc.call('getnewaddress', ['', 'bech32']);
    for (let block = 0; block <= DEPTH; block++) await rpc.call('generateblock', [rival, []]);
    const isHalted = async () => (await rows(connection, "SELECT 1 FROM events WHERE code = 'HALT'")).length > 0;
    for (const until = Date.now() + DEADLINE_MS; !(await isHalted()); await sleep(200, undefined, { signal }))
      if (Date.now() > until) return [`a deep reorg: the decoder does not halt before ${DEPTH} blocks are replaced`];
    await decoder.stop();
    // With this word it ends the halt, and ends.
    await beside.start('decoder', { ...order, words: ['--clear-halt'] }).then(
      async (service) => await service.stop(),
      () => undefined
    );
    const again = await beside.start('decoder', order);
    let output = '';
    for (const until = Date.now() + DEADLINE_MS; Date.now() < until; await sleep(200, undefined, { signal })) {
      output = readFileSync(again.logFile, 'utf8');
      if (REFUSAL.test(output)) break;
    }
    await again.stop();
    return REFUSAL.test(output)
      ? []
      : [`a deep reorg: a decoder that may undo it does not refuse; its log is ${again.logFile}`];
  } finally {
    connection.destroy();
  }
}
