import { ReplicaBootstrap } from '../../actors/replica-bootstrap.ts';
import { SourceCouncil } from '../../actors/replica-council.ts';
import { ReplicaSession } from '../../actors/replica-session.ts';
import { PlatformError } from '../../src/errors.ts';
import { silentLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/database.ts';
import { PAIR_KEY } from './sync-pair.ts';
import { temporaryDirectory } from './sync-process.ts';

/** The actor's bootstrap, without the actor: one attempt; what an earlier one left is gone on with. */
export function bootstrapper(url: string, coordinates: DatabaseCoordinates) {
  const session = new ReplicaSession(
    {
      id: { dbType: 'decoder', chain: 'litecoin', network: 'regtest' },
      generation: 1,
      coordinates,
      sources: [{ url, apiKey: PAIR_KEY }],
      verifyHashes: false,
      hashConfirmTimeoutMs: 10_000,
      maxRollbackDepth: 10,
      epochSize: 10,
      reconnectDelayMs: 100,
      localTables: [],
      maxRowBytes: 2 ** 20,
      stateDirectory: temporaryDirectory('bootstrap-state'),
      circuitFailures: 5,
      circuitCooldownMs: 100,
      logLevel: 'error'
    },
    silentLogger,
    () => undefined,
    () => undefined
  );
  const bootstrap = new ReplicaBootstrap(session, new SourceCouncil(session, () => () => undefined));
  const { signal } = new AbortController();
  const close = () => session.drop(new PlatformError('DATABASE_UNAVAILABLE'));
  const attempt = async () => {
    try {
      await session.open();
      if (session.state.height !== null) return;
      await bootstrap.fetchSchema(signal);
      await bootstrap.download(signal);
      await bootstrap.load(signal);
      await bootstrap.check(signal);
    } catch (caught) {
      close();
      throw caught;
    }
  };
  return { attempt, close, open: () => session.open() };
}
