import { PlatformError } from '../../../src/errors.ts';
import { ReplicaBootstrap } from '../../../src/replication/replica/bootstrap/bootstrap.ts';
import { SourceQuorum } from '../../../src/replication/replica/quorum/source-quorum.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { testReplica } from './test-replica.ts';

/** The actor's bootstrap, without the actor: one attempt; what an earlier one left is gone on with. */
export function bootstrapper(url: string, coordinates: DatabaseCoordinates) {
  const replica = testReplica(coordinates, url);
  const bootstrap = new ReplicaBootstrap(replica, new SourceQuorum(replica, () => () => undefined));
  const { signal } = new AbortController();
  const close = () => replica.drop(new PlatformError('DATABASE_UNAVAILABLE'));
  const attempt = async () => {
    try {
      await replica.open();
      if (replica.store.state.height !== null) return;
      await bootstrap.fetchSchema(signal);
      await bootstrap.download(signal);
      await bootstrap.load(signal);
      await bootstrap.check(signal);
    } catch (caught) {
      close();
      throw caught;
    }
  };
  return { attempt, close, open: () => replica.open() };
}
