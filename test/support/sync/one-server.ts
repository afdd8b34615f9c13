import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { PAIR_KEY, startTestHub } from './sync-pair.ts';
import { startSyncProcess, temporaryDirectory } from './sync-process.ts';

/** Starts a sync server of one indexer's database, with a hub of its own. @returns its address */
export async function startIndexerServer(of: DatabaseCoordinates): Promise<string> {
  const hubPort = await startTestHub([['indexer', of]]);
  const { url } = await startSyncProcess({
    HUB_API_HOST: '127.0.0.1',
    HUB_PORT: hubPort,
    SYNC_API_KEY: PAIR_KEY,
    SYNC_MODE: 'server',
    SYNC_API_PORT: await freePort(),
    SYNC_STATE_DIR: temporaryDirectory('server-state'),
    BLOCK_POLL_INTERVAL: 30
  });
  return url;
}
