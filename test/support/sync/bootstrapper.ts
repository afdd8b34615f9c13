import { ReplicaBootstrap } from '../../../actors/replica/bootstrap.ts';
import { SourceCouncil } from '../../../actors/replica/council.ts';
import { PlatformError } from '../../../src/errors.ts';
import type { DatabaseCoordinates } from '../../../src/wire/database.ts';
import { replicaSession } from './replica-session.ts';

/** The actor's bootstrap, without the actor: one attempt; what an earlier one left is gone on with. */
export function bootstrapper(url: string, coordinates: DatabaseCoordinates) {
  const session = replicaSession(coordinates, url);
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
