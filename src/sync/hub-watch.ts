import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import { type DiscoveredDatabase, discoverDatabases, type HubClient } from '../hub/client.ts';
import type { KnownDatabases } from '../hub/known-databases.ts';
import type { Logger } from '../log.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 15_000;

interface HubWatch {
  readonly hub: HubClient;
  /** False where only names count: the coordinates come from the environment. */
  readonly needsCoordinates: boolean;
  readonly repollMs: number;
  /** How long the first answer may take before giving up. */
  readonly maxWaitMs: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called after each request with whether the hub answered. */
  readonly onAnswer?: (answered: boolean) => void;
  /** For callers that need only names: they may start with the hub's last known answer. */
  readonly memory?: KnownDatabases | undefined;
  /** Called with the hub's databases, after the first answer and after each later one. */
  readonly onDatabases: (databases: readonly DiscoveredDatabase[]) => Promise<void>;
}

/**
 * Asks the hub for the databases until the signal ends it.
 *
 * If the hub is away after the first answer, the known databases stay; with `memory`, also at the next start.
 *
 * @throws {PlatformError} HUB_UNREACHABLE when no first answer came in `maxWaitMs`; what `onDatabases` finds final
 */
export async function watchHub({
  hub,
  needsCoordinates,
  repollMs,
  maxWaitMs,
  log,
  signal,
  onAnswer,
  memory,
  onDatabases
}: HubWatch): Promise<void> {
  const deadline = performance.now() + maxWaitMs;
  let retryMs = FIRST_RETRY_MS;
  let answered = false;
  let known = false;
  let said = '';
  while (!signal.aborted) {
    try {
      const { databases, problems } = discoverDatabases(await hub.fetchConfigs(signal), {
        coordinates: needsCoordinates
      });
      onAnswer?.(true);
      const words = [
        ...problems,
        ...(databases.some(({ id }) => id.dbType === 'indexer') ? [] : ['no indexer databases found in hub config'])
      ];
      if (words.join() !== said) for (const word of words) log.warn(word);
      said = words.join();
      await onDatabases(databases);
      answered = known = true;
      await memory?.keep(databases).catch((err) => log.warn({ err }, "the hub's list of databases cannot be saved"));
    } catch (caught) {
      if (signal.aborted) return;
      const error = PlatformError.from(caught, 'HUB_UNREACHABLE');
      onAnswer?.(false);
      if (error.policy === 'exit') throw error;
      log.error({ err: error.message, hint: error.hint }, 'error connecting to the hub');
      const kept = known ? null : await memory?.recall();
      if (kept) {
        log.warn({ databases: kept.length }, 'the hub does not answer: using its last list of databases');
        await onDatabases(kept);
        known = true;
      }
      if (!known && performance.now() + retryMs > deadline) throw error;
    }
    const waitMs = answered ? repollMs : retryMs;
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
