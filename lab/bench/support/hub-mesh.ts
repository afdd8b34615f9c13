import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signingKey } from '../../../src/consensus/auth-signature.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { atEnd } from '../../../test/support/cleanup.ts';
import { createDatabase } from '../../../test/support/mariadb.ts';
import { Helper } from './processes/helper.ts';
import type { HubAsk } from './processes/hub-process.ts';

/** A hub of a set, in a process of its own. */
export interface MeshHub {
  readonly key: string;
  readonly env: Readonly<Record<string, string>>;
  database: DatabaseCoordinates;
  process: Helper<HubAsk>;
  port: number;
}

/** State of a hub in its set. */
interface SetPlace {
  readonly leader: string;
  readonly seq: number;
  readonly members: readonly { readonly connected: boolean }[];
}

const PATIENCE_MS = 120_000;
const LOOK_MS = 20;

/** Starts the hubs of a set, each with a database of its own, and waits until each sees all others. */
export async function openMesh(count: number): Promise<readonly MeshHub[]> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-bench-set-'));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'federation.json');
  const seeds = Array.from({ length: count }, (_, at) => (at + 1).toString(16).padStart(2, '0').repeat(32));
  const ports = await Promise.all(seeds.map(() => freePort()));
  const members = seeds.map((seed, at) => ({ pubkey: signingKey(seed).pubkey, addr: `127.0.0.1:${ports[at]}` }));
  writeFileSync(file, JSON.stringify({ quorum: 'byzantine', members }));
  const hubs: MeshHub[] = [];
  for (const [at, seed] of seeds.entries()) {
    const env = {
      HUB_RATE_LIMIT_RPM: '100000000',
      HTTP_MAX_PER_IP: '5000',
      P2P_VALIDATOR_ADDR: members[at]!.addr,
      P2P_PORT: String(ports[at]),
      P2P_RECONNECT_BASE: '100',
      P2P_RECONNECT_MAX: '500',
      SIGNING_PRIVKEY_HEX: seed,
      ORACLE_EPOCH_START: '1767225600000',
      HUB_FEDERATION: file
    };
    const database = await createDatabase('hub');
    hubs.push({ key: members[at]!.pubkey, env, database, ...(await start(env, database)) });
  }
  await joined(hubs);
  return hubs;
}

async function start(env: MeshHub['env'], database: DatabaseCoordinates): Promise<Pick<MeshHub, 'process' | 'port'>> {
  const process = new Helper<HubAsk>('hub-process.ts');
  return { process, port: await process.ask<number>({ type: 'start', database, env }) };
}

/** Starts a hub again that was killed. @param database  default: the one that it had */
export async function startAgain(hub: MeshHub, database = hub.database): Promise<void> {
  Object.assign(hub, { database, ...(await start(hub.env, database)) });
}

/** Calls a method of a hub. @throws {Error} with what it answered instead of a result */
export async function call({ port }: MeshHub, method: string, params: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body });
  const reply = (await response.json()) as { readonly result?: unknown; readonly error?: unknown };
  if (reply.result === undefined) throw new Error(`${method} answered ${JSON.stringify(reply.error)}`);
  return reply.result;
}

/** Asks a hub how it stands in its set. */
export async function placeInSet(hub: MeshHub): Promise<SetPlace> {
  return (await call(hub, 'getfederation', {})) as SetPlace;
}

/** Waits until something is so. @throws {Error} naming it */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const since = performance.now(); !(await isSo().catch(() => false)); await sleep(LOOK_MS))
    if (performance.now() - since > PATIENCE_MS) throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}`);
}

/** Waits until each hub sees all others. */
export async function joined(hubs: readonly MeshHub[]): Promise<void> {
  await until('the hubs see each other', async () => {
    const all = await Promise.all(hubs.map(placeInSet));
    return all.every(({ members }) => members.every(({ connected }) => connected));
  });
}
