import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import type { ProbeAddress } from '../service/probe.ts';
import { probeSync } from '../sync/probe.ts';
import { type DatabaseId, databaseKey } from '../wire/database.ts';

const REQUEST_TIMEOUT_MS = 5_000;
const RESTART_DEADLINE_MS = 30_000;

/**
 * Ends one actor's thread and waits until its supervisor has counted a restart.
 *
 * @throws {PlatformError} SOURCE_REFUSED, ACTOR_TIMEOUT
 */
export async function killActor(address: ProbeAddress, id: DatabaseId, signal: AbortSignal): Promise<void> {
  const name = databaseKey(id);
  const before = await countRestarts(address, name);
  const response = await fetch(`${address.url}/debug/actors/${name}/kill`, {
    method: 'POST',
    headers: { authorization: `Bearer ${address.apiKey}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)])
  });
  const text = await response.text();
  if (!response.ok) {
    const reason = `${address.url} answered ${response.status} to the kill of ${name}: ${text.slice(0, 200)}`;
    throw new PlatformError('SOURCE_REFUSED', { reason });
  }
  const deadline = Date.now() + RESTART_DEADLINE_MS;
  while ((await countRestarts(address, name)) <= before) {
    if (Date.now() > deadline) {
      const reason = `no restart of ${name} at ${address.url} within ${RESTART_DEADLINE_MS / 1000} s of its kill`;
      throw new PlatformError('ACTOR_TIMEOUT', { reason });
    }
    await sleep(100, undefined, { signal });
  }
}

async function countRestarts(address: ProbeAddress, name: string): Promise<number> {
  const { databases } = await probeSync(address);
  return databases.find((database) => database.name === name)?.restarts ?? 0;
}
