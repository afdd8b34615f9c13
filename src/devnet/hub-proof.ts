import { setTimeout as sleep } from 'node:timers/promises';
import { quoteName, rows } from '../db/connection.ts';
import { PlatformError } from '../errors.ts';
import { callMethod } from '../service/rpc/call-method.ts';
import { askStanding, waitUntilJoined } from './hubs.ts';
import type { Watched } from './platform-state.ts';
import { DEVNET, type DevnetHub, HOST } from './settings.ts';

/** Result of a set of hubs in `devnet --once`. */
export interface HubsSummary {
  readonly members: number;
  /** Answered writes. */
  readonly writes: number;
  /** Whether all databases have one configuration, and every answered write is in it. */
  readonly equal: boolean;
}

/** Hubs of a devnet, with the power over their processes. */
export interface RunningHubs {
  readonly members: readonly DevnetHub[];
  readonly apiKey: string;
  /** Kills the process of a hub as a loss of power does. */
  kill(hub: DevnetHub): Promise<void>;
  /** Starts it again. */
  restart(hub: DevnetHub): Promise<void>;
}

/** Writes that are answered before the leader is killed, while it is gone, and after it is back. */
const WRITES = 10;
const WRITE_TIMEOUT_MS = 30_000;
const SETTLE_DEADLINE_MS = 60_000;
const SETTLE_INTERVAL_MS = 200;

/** Kills the leader in the middle of writes, starts it again, and compares all databases. @throws {PlatformError} ACTOR_TIMEOUT */
export async function proveHubs(
  { members, apiKey, kill, restart }: RunningHubs,
  { connection }: Pick<Watched, 'connection'>,
  tell: (line: string) => void,
  signal: AbortSignal
): Promise<HubsSummary> {
  const { leader: key } = await askStanding(members[0]!, apiKey);
  const leader = members.find((hub) => hub.key === key)!;
  const others = members.filter((hub) => hub !== leader);
  const answered: string[] = [];
  const write = async (hub: DevnetHub) => {
    const module = `proof-${answered.length}-${hub.name}`;
    const config = { [DEVNET.chain]: { [DEVNET.network]: { [module]: { host: HOST } } } };
    const options = { apiKey, signal: AbortSignal.any([signal, AbortSignal.timeout(WRITE_TIMEOUT_MS)]) };
    await callMethod(`http://${HOST}:${hub.port}/`, 'updateconfig', { config }, options);
    answered.push(module);
  };
  let isOver = false;
  const writing = others.map(async (hub) => {
    while (!isOver) await write(hub).catch(() => sleep(SETTLE_INTERVAL_MS, undefined, { signal }));
  });
  const reach = async (count: number) =>
    await waitFor(`${count} writes are answered`, async () => answered.length >= count, signal);
  try {
    await reach(WRITES);
    tell(`killing the leader of the hubs, ${leader.name}, after ${answered.length} writes`);
    await kill(leader);
    await reach(answered.length + WRITES);
    await restart(leader);
    await reach(answered.length + WRITES);
  } finally {
    isOver = true;
    await Promise.all(writing);
  }
  await waitUntilJoined(members, apiKey, signal);
  const configurations = async () =>
    await Promise.all(
      members.map(async ({ database }) => {
        const columns = 'coin, network, module, param_name, param_value, updated_at';
        const found = await rows(
          connection,
          `SELECT ${columns} FROM ${quoteName(database)}.configs ORDER BY ${columns}`
        );
        return JSON.stringify(found);
      })
    );
  await waitFor(
    'all hubs have applied the same',
    async () =>
      new Set((await Promise.all(members.map((hub) => askStanding(hub, apiKey)))).map(({ seq }) => seq)).size === 1,
    signal
  );
  const states = await configurations();
  const equal = new Set(states).size === 1 && answered.every((module) => states[0]!.includes(`"${module}"`));
  tell(
    `${members.length} hubs: ${answered.length} writes, ${equal ? 'one configuration' : 'DIFFERENT configurations'}`
  );
  return { members: members.length, writes: answered.length, equal };
}

async function waitFor(what: string, isMet: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + SETTLE_DEADLINE_MS;
  while (!(await isMet().catch(() => false))) {
    if (performance.now() > deadline)
      throw new PlatformError('ACTOR_TIMEOUT', {
        reason: `it did not come to this within ${SETTLE_DEADLINE_MS / 1000} s: ${what}`
      });
    await sleep(SETTLE_INTERVAL_MS, undefined, { signal });
  }
}
