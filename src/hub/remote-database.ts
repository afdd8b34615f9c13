import { PlatformError } from '../errors.ts';
import { SharedReads } from '../service/turns/shared-reads.ts';
import type { HubAsks, HubDatabaseState, Way } from './store/asks.ts';
import { CALL_LIMITS_MS, type HubDatabase } from './store/database.ts';
import type { RunStatement } from './store/statements.ts';

/** The way to the actor that has the database. */
interface DatabaseActor {
  /** @throws {PlatformError} ACTOR_NOT_READY, ACTOR_TIMEOUT, ACTOR_BUSY, and what the statement throws */
  ask<K extends keyof HubAsks>(
    type: K,
    body: HubAsks[K]['request'],
    options: { readonly deadlineMs: number }
  ): Promise<HubAsks[K]['reply']>;
  /** Returns its last notice. */
  state(): HubDatabaseState;
}

/** Time for a question beside its statement's limit. */
const PATIENCE_MS = 500;
const PROBE_LIMIT_MS = 4_500;

/** Returns the hub's database as its main thread has it: each statement is run by the actor. */
export function remoteDatabase({ ask, state }: DatabaseActor): HubDatabase {
  const deadlineOf = (way: Way) => ({ deadlineMs: CALL_LIMITS_MS[way] + PATIENCE_MS });
  const checkReady = () => {
    if (!state().isReady)
      throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the database has not answered yet' });
  };
  const run = (way: Way): RunStatement => {
    const statement = async (name: Parameters<RunStatement>[0], ...given: unknown[]) => {
      checkReady();
      return await ask('statement', { way, name, given }, deadlineOf(way));
    };
    return statement as RunStatement;
  };
  const probes = new SharedReads<boolean>();
  const probe = () => ask('probe', {}, { deadlineMs: PROBE_LIMIT_MS }).catch(() => false);
  return {
    isReady: () => state().isReady,
    circuit: () => state().circuit,
    takesWrites: () => state().takesWrites,
    // However many ask, one is under way: a crowd's own wait is none of the database's.
    probe: async () => state().isReady && (await probes.read('probe', probe)),
    page: async (name, ...given) => {
      checkReady();
      return await ask('page', { name, given }, deadlineOf('readOnce'));
    },
    read: run('read'),
    readOnce: run('readOnce'),
    write: run('write'),
    push: run('push'),
    survey: run('survey')
  };
}
