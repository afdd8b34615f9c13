import { type Logger, silentLogger } from '../../../src/log.ts';
import { Replica } from '../../../src/replication/replica/parts/replica.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { PAIR_KEY } from './sync-pair.ts';
import { temporaryDirectory } from './sync-process.ts';

interface SessionOptions {
  readonly log?: Logger;
  readonly stateDirectory?: string;
}

/** Returns the parts of one decoder replica, without the actor. */
export function testReplica(
  coordinates: DatabaseCoordinates,
  url: string,
  { log = silentLogger, stateDirectory = temporaryDirectory('replica-state') }: SessionOptions = {}
): Replica {
  return new Replica(
    {
      id: { dbType: 'decoder', chain: 'litecoin', network: 'regtest' },
      generation: 1,
      coordinates,
      sources: [{ url, apiKey: PAIR_KEY }],
      verifyHashes: false,
      hashConfirmTimeoutMs: 10_000,
      maxRollbackDepth: 10,
      epochSize: 10,
      stateDomain: null,
      reconnectDelayMs: 100,
      localTables: [],
      maxRowBytes: 2 ** 20,
      stateDirectory,
      circuitFailures: 5,
      circuitCooldownMs: 100,
      logLevel: 'error'
    },
    log,
    () => undefined,
    () => undefined
  );
}
