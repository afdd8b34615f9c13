import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import { ask, numberOf, object, objects, type ProbeAddress } from '../service/life/probe.ts';
import { type ActorName, actorKey } from '../wire/state/actor.ts';

const REQUEST_TIMEOUT_MS = 5_000;
const RESTART_DEADLINE_MS = 30_000;

/**
 * Ends one actor's thread and waits until its supervisor has counted a restart.
 *
 * @throws {PlatformError} SOURCE_REFUSED, ACTOR_TIMEOUT
 */
export async function killActor(address: ProbeAddress, id: ActorName, signal: AbortSignal): Promise<void> {
  const name = actorKey(id);
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
  const deadline = performance.now() + RESTART_DEADLINE_MS;
  while ((await countRestarts(address, name)) <= before) {
    if (performance.now() > deadline) {
      const reason = `no restart of ${name} at ${address.url} within ${RESTART_DEADLINE_MS / 1000} s of its kill`;
      throw new PlatformError('ACTOR_TIMEOUT', { reason });
    }
    await sleep(100, undefined, { signal });
  }
}

async function countRestarts(address: ProbeAddress, name: string): Promise<number> {
  const actors = objects(await ask(address, '/debug/actors', [200]));
  const actor = actors.find(({ id }) => {
    const { dbType, kind, chain, network } = object(id);
    return [dbType ?? kind, chain, network].join('/') === name;
  });
  return numberOf(object(actor?.['restarts'])['total']) ?? 0;
}
