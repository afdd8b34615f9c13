import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import { actorKey } from '../wire/state/actor.ts';
import { type HubsSummary, proveHubs } from './hub-proof.ts';
import { killActor } from './kill-actor.ts';
import type { Platform } from './platform.ts';
import { isSettled, readPlatformState, stateLine } from './platform-state.ts';
import { FUNDING_BLOCKS, fundWallet, mineRound, planRounds } from './processes/miner.ts';
import { DEVNET, type DevnetSettings, devnetDatabase } from './settings.ts';
import { compareReplicas, type Summary } from './summary.ts';

/** An event at some part of the run. */
interface Incident {
  /** From 0, when the wallet is funded, to 1, when all blocks are mined. */
  readonly at: number;
  readonly reorgDepth?: number;
  readonly kill?: keyof typeof KILLED;
  /** Whether the leader of a set of hubs is killed in the middle of writes. */
  readonly hubs?: boolean;
}

/** The actor to kill in each service. */
const KILLED = {
  indexer: { kind: 'indexer', chain: DEVNET.chain, network: DEVNET.network },
  server: devnetDatabase('indexer'),
  client: devnetDatabase('indexer')
} as const;

const INCIDENTS: readonly Incident[] = [
  { at: 0.2, reorgDepth: 1 },
  { at: 0.3, kill: 'indexer' },
  { at: 0.4, kill: 'server' },
  { at: 0.5, hubs: true },
  { at: 0.6, reorgDepth: 6 },
  { at: 0.8, kill: 'client' }
];

/** Least number of blocks: with fewer, incidents would fall together. */
export const MIN_BLOCKS = FUNDING_BLOCKS + 30;
const SETTLE_DEADLINE_MS = 90_000;
const SETTLE_INTERVAL_MS = 250;
const PROGRESS_INTERVAL_MS = 3_000;

/**
 * Runs the proof: mines, forces reorgs, kills actors, waits for the replicas and compares them.
 *
 * @throws {PlatformError} ACTOR_TIMEOUT when the replicas do not reach the node's height in time
 */
export async function runOnce(
  platform: Platform,
  { seed, tell }: DevnetSettings,
  blocks: number,
  signal: AbortSignal
): Promise<Summary> {
  const startedAt = performance.now();
  const { node } = platform;
  const rounds = planRounds(seed, await fundWallet(node));
  const from = await node.getHeight();
  let hubs: HubsSummary | undefined;
  for (const incident of INCIDENTS) {
    await mineTo(from + Math.round((blocks - from) * incident.at));
    if (incident.reorgDepth) {
      await settle(platform, tell, signal); // so that every part has the blocks that are replaced
      tell(`reorg of depth ${incident.reorgDepth} at height ${await node.getHeight()}`);
      await node.reorg(incident.reorgDepth);
    }
    if (incident.kill) {
      const id = KILLED[incident.kill];
      tell(`killing the actor ${actorKey(id)} of the ${incident.kill}`);
      await killActor(platform[incident.kill], id, signal);
    }
    if (incident.hubs && platform.hubs.members.length > 0)
      hubs = await proveHubs(platform.hubs, platform.watched, tell, signal);
  }
  await mineTo(blocks);
  await settle(platform, tell, signal);
  const databases = await compareReplicas(platform.database);
  return {
    equal: databases.every(({ equal, height }) => equal && height === blocks) && (hubs?.equal ?? true),
    blocks: await node.getHeight(),
    reorgs: INCIDENTS.filter(({ reorgDepth }) => reorgDepth).length,
    actors_killed: INCIDENTS.filter(({ kill }) => kill).length,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    databases,
    ...(hubs && { hubs })
  };

  async function mineTo(height: number): Promise<void> {
    while ((await node.getHeight()) < height) {
      signal.throwIfAborted();
      await mineRound(node, rounds.next().value, tell);
    }
  }
}

/** Waits until both replicas have the node's height, and prints the state meanwhile. */
export async function settle(platform: Platform, tell: (line: string) => void, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + SETTLE_DEADLINE_MS;
  let nextProgress = 0;
  for (;;) {
    const state = await readPlatformState(platform.watched);
    if (isSettled(state)) return tell(stateLine(state));
    if (performance.now() > deadline) {
      const reason = `the replicas are not at the node's height after ${SETTLE_DEADLINE_MS / 1000} s: ${stateLine(state)}`;
      throw new PlatformError('ACTOR_TIMEOUT', { reason });
    }
    if (performance.now() >= nextProgress) {
      tell(stateLine(state));
      nextProgress = performance.now() + PROGRESS_INTERVAL_MS;
    }
    await sleep(SETTLE_INTERVAL_MS, undefined, { signal });
  }
}
