import { workerData } from 'node:worker_threads';
import { connect, databaseError, isDriverError } from '../../src/db/connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { RunningHub } from '../../src/hub/federation/node/running-hub.ts';
import type {
  ValidatorAsks,
  ValidatorNotices,
  ValidatorSettings
} from '../../src/hub/federation/node/validator-asks.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { actorKey } from '../../src/wire/state/actor.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';

/** Start data of a validator actor's thread. */
export interface ValidatorActorData {
  readonly database: DatabaseCoordinates;
  readonly settings: ValidatorSettings;
  /** Whether a log that cannot be gone on with is kept aside, for the state of the set. */
  readonly rejoin: boolean;
  readonly logLevel: string;
}

/** Writes that wait for the log, and some. */
const MAILBOX_LIMIT = 1_100;

const { database, settings, rejoin, logLevel } = workerData as ValidatorActorData;
const log = createLogger('hub', logLevel).child({
  database: actorKey({ kind: 'validator', chain: 'all', network: 'all' }),
  schema: database.name
});
/** The part of the thread that runs, once its database answers. */
let running: RunningHub | null = null;
const host = hostActor<ValidatorAsks, Record<never, never>, ValidatorNotices>({
  handlers: {
    submit: async ({ body }) => {
      if (!running) throw new PlatformError('HUB_HALTED', { reason: 'it is starting' });
      return { seq: await running.hub.submit(body) };
    },
    find: async ({ at, prices }) => {
      running?.hub.rounds?.find(at, prices);
      return running !== null;
    },
    answer: async (answer) => {
      running?.hub.witness.answer(answer);
      return running !== null;
    },
    keep: async ({ round, made }) => (await running?.hub.publishing?.keep(round, made)) ?? null,
    announce: async ({ round }) => {
      running?.hub.publishing?.announce(round);
      return running !== null;
    },
    check: async ({ checks, height }) => {
      running?.hub.capabilities.check(checks, height);
      return running !== null;
    }
  },
  stop: async () => await running?.stop(),
  log,
  mailboxLimit: MAILBOX_LIMIT
});

try {
  const { tell } = host;
  const fail = (reason: unknown) => host.fail(named(reason));
  running = await RunningHub.start({ connection: await connect(database), settings, rejoin, log, tell, fail });
} catch (caught) {
  host.fail(
    isPortTaken(caught) ? new PlatformError('PORT_IN_USE', { reason: `P2P_PORT=${settings.port}` }) : named(caught)
  );
}

/** Returns MariaDB's failures by the names that the supervisor knows. */
function named(caught: unknown): unknown {
  return isDriverError(caught) ? databaseError(caught) : caught;
}

function isPortTaken(caught: unknown): boolean {
  return (caught as { code?: unknown } | null)?.code === 'EADDRINUSE';
}
