import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signingKey } from '../consensus/auth-signature.ts';
import { PlatformError } from '../errors.ts';
import { callMethod } from '../service/rpc/call-method.ts';
import { freePort } from './processes/free-port.ts';
import { type DevnetHub, HOST } from './settings.ts';

/** Beginning of the first round of prices. */
const EPOCH_START = 1_767_225_600_000;
/** Hubs on one machine find each other at once. */
const RECONNECT_MS = 200;
const JOIN_DEADLINE_MS = 60_000;
const JOIN_INTERVAL_MS = 200;
const ASK_TIMEOUT_MS = 2_000;

/**
 * Plans the hubs of a set, and writes its file. Keys stay in the directory, so that a devnet that is started again has the same set.
 *
 * @param count  hubs, 2 or more
 * @param firstPort  port of the first one; the others take free ones
 */
export async function planHubs(directory: string, count: number, firstPort: number): Promise<readonly DevnetHub[]> {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'federation.json');
  const made = readSeeds(join(directory, 'hub-seeds.json'), count).map(async (seed, at) => ({
    seed,
    key: signingKey(seed).pubkey,
    name: at === 0 ? 'hub' : `hub-${at + 1}`,
    database: at === 0 ? 'Platform_Hub' : `Platform_Hub_${at + 1}`,
    port: at === 0 ? firstPort : await freePort(),
    peerPort: await freePort()
  }));
  const hubs = await Promise.all(made);
  const members = hubs.map(({ key, peerPort }) => ({ pubkey: key, addr: `${HOST}:${peerPort}` }));
  writeFileSync(file, JSON.stringify({ quorum: 'byzantine', members }));
  return hubs.map(({ name, port, peerPort, database, key, seed }) => ({
    name,
    port,
    database,
    key,
    variables: {
      P2P_VALIDATOR_ADDR: `${HOST}:${peerPort}`,
      P2P_PORT: peerPort,
      P2P_RECONNECT_BASE: RECONNECT_MS,
      SIGNING_PRIVKEY_HEX: seed,
      ORACLE_EPOCH_START: EPOCH_START,
      HUB_FEDERATION: file
    }
  }));
}

/** Returns the seeds of a file, with new ones where it has too few. */
function readSeeds(path: string, count: number): readonly string[] {
  const known = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as string[]) : [];
  const seeds = Array.from({ length: count }, (_, at) => known[at] ?? randomBytes(32).toString('hex'));
  writeFileSync(path, JSON.stringify(seeds), { mode: 0o600 });
  return seeds;
}

/** State of one hub in its set, as far as a devnet needs it. */
interface ValidatorState {
  readonly leader: string;
  readonly seq: number;
  readonly members: readonly { readonly connected: boolean }[];
}

/** Asks a hub how it stands. @throws an Error that says what came instead */
export async function askStanding({ port }: DevnetHub, apiKey: string): Promise<ValidatorState> {
  const signal = AbortSignal.timeout(ASK_TIMEOUT_MS);
  return (await callMethod(`http://${HOST}:${port}/`, 'getfederation', {}, { apiKey, signal })) as ValidatorState;
}

/** Waits until each hub is connected to all others. @throws {PlatformError} ACTOR_TIMEOUT */
export async function waitUntilJoined(hubs: readonly DevnetHub[], apiKey: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + JOIN_DEADLINE_MS;
  for (;;) {
    const answers = await Promise.all(hubs.map((hub) => askStanding(hub, apiKey).catch(() => null)));
    if (answers.every((answer) => answer?.members.every(({ connected }) => connected))) return;
    if (performance.now() > deadline)
      throw new PlatformError('ACTOR_TIMEOUT', {
        reason: `the hubs do not see each other after ${JOIN_DEADLINE_MS / 1000} s`
      });
    await sleep(JOIN_INTERVAL_MS, undefined, { signal });
  }
}
