import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { TestNats } from './nats.ts';
import { temporaryDirectory } from './sync-process.ts';

/** Keys of the users of ops/nats. */
export interface NatsKeys {
  /** Variables that the configuration names. */
  readonly env: Readonly<Record<string, string>>;
  /** Files with the seeds of both users. */
  readonly publisher: string;
  readonly reader: string;
  readonly asPublisher: ReturnType<typeof nkeyAuthenticator>;
  readonly asReader: ReturnType<typeof nkeyAuthenticator>;
  readonly asMonitor: ReturnType<typeof nkeyAuthenticator>;
}

/** A nats-server with the users of ops/nats. */
interface GuardedNats extends NatsKeys {
  readonly nats: TestNats;
}

/** Configuration of a nats-server with these users. */
export const GUARDED_CONFIGURATION = join(import.meta.dirname, '../../../ops/nats/nats-server.conf');

export function makeNatsKeys(): NatsKeys {
  const [publisher, reader, monitor] = [nkeys.createUser(), nkeys.createUser(), nkeys.createUser()];
  const directory = temporaryDirectory('nkeys');
  const keep = (name: string, seed: Uint8Array) => {
    const file = join(directory, `${name}.nk`);
    writeFileSync(file, `${Buffer.from(seed)}\n`);
    return file;
  };
  return {
    env: {
      PLATFORM_PUBLISHER: publisher.getPublicKey(),
      PLATFORM_READER: reader.getPublicKey(),
      PLATFORM_MONITOR: monitor.getPublicKey()
    },
    asReader: nkeyAuthenticator(reader.getSeed()),
    asMonitor: nkeyAuthenticator(monitor.getSeed()),
    asPublisher: nkeyAuthenticator(publisher.getSeed()),
    publisher: keep('publisher', publisher.getSeed()),
    reader: keep('reader', reader.getSeed())
  };
}

export async function startGuardedNats(): Promise<GuardedNats> {
  const keys = makeNatsKeys();
  const { env, asReader } = keys;
  const nats = await TestNats.start({ file: GUARDED_CONFIGURATION, env, authenticator: asReader });
  return { nats, ...keys };
}
