import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { TestNats } from './nats.ts';
import { temporaryDirectory } from './sync-process.ts';

/** A nats-server with the users of ops/nats. */
interface GuardedNats {
  readonly nats: TestNats;
  /** Files with the seeds of both users. */
  readonly publisher: string;
  readonly reader: string;
  readonly asPublisher: ReturnType<typeof nkeyAuthenticator>;
  readonly asReader: ReturnType<typeof nkeyAuthenticator>;
  readonly asMonitor: ReturnType<typeof nkeyAuthenticator>;
}

export async function startGuardedNats(): Promise<GuardedNats> {
  const [publisher, reader, monitor] = [nkeys.createUser(), nkeys.createUser(), nkeys.createUser()];
  const directory = temporaryDirectory('nkeys');
  const keep = (name: string, seed: Uint8Array) => {
    const file = join(directory, `${name}.nk`);
    writeFileSync(file, `${Buffer.from(seed)}\n`);
    return file;
  };
  const asReader = nkeyAuthenticator(reader.getSeed());
  const nats = await TestNats.start({
    file: join(import.meta.dirname, '../../../ops/nats/nats-server.conf'),
    env: {
      PLATFORM_PUBLISHER: publisher.getPublicKey(),
      PLATFORM_READER: reader.getPublicKey(),
      PLATFORM_MONITOR: monitor.getPublicKey()
    },
    authenticator: asReader
  });
  return {
    nats,
    asReader,
    asMonitor: nkeyAuthenticator(monitor.getSeed()),
    asPublisher: nkeyAuthenticator(publisher.getSeed()),
    publisher: keep('publisher', publisher.getSeed()),
    reader: keep('reader', reader.getSeed())
  };
}
