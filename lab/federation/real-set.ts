import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SigningKey, signingKey } from '../../src/consensus/auth-signature.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { databaseEnv, type StartedProcess, startServiceProcess } from '../../test/support/service-process.ts';
import { temporaryDirectory } from '../../test/support/sync/sync-process.ts';

/** A hub of a set in a process of its own. */
export interface RealHub {
  readonly name: string;
  readonly key: SigningKey;
  readonly port: number;
  readonly peerPort: number;
  readonly env: Readonly<Record<string, string>>;
  readonly database: DatabaseCoordinates;
  process: StartedProcess | null;
}

interface RealSetOptions {
  readonly hubs: number;
  /** Server of their databases; default: the test run's MariaDB. */
  readonly server?: Parameters<typeof createDatabase>[1];
  /** Returns where one hub dials another, by their places; default: its own port. */
  readonly addressOf?: (from: number, to: number, peerPorts: readonly number[]) => Promise<string>;
}

// biome-ignore lint/suspicious/noExplicitAny: answers are checked where they are used
type Answer = any;

export const EPOCH_START = 1_767_225_600_000;
/** No hub listens there: all tell it of themselves, and dial each other by the addresses of the set alone. */
const NOWHERE = '127.0.0.1:9';
const CALL_MS = 25_000;

/** Starts the hubs of a set, each with a process and a database of its own. @returns them, and the first one's file of the set */
export async function startSet({ hubs: count, server, addressOf }: RealSetOptions): Promise<{
  readonly hubs: readonly RealHub[];
  readonly file: string;
}> {
  const directory = temporaryDirectory('federation');
  const places = Array.from({ length: count }, (_, at) => at);
  const seeds = places.map((at) => (at + 1).toString(16).padStart(2, '0').repeat(32));
  const keys = seeds.map((seed) => signingKey(seed));
  const peerPorts = await Promise.all(places.map(() => freePort()));
  const fileOf = (own: number) => join(directory, `federation-${own}.json`);
  const hubs: RealHub[] = [];
  for (const at of places) {
    const members: { pubkey: string; addr: string }[] = [];
    for (const to of places) {
      const direct = async () => `127.0.0.1:${peerPorts[to]}`;
      const addr = to === at ? NOWHERE : await (addressOf ?? direct)(at, to, peerPorts);
      members.push({ pubkey: keys[to]!.pubkey, addr });
    }
    writeFileSync(fileOf(at), JSON.stringify({ quorum: 'byzantine', members }));
    const [port, database] = [await freePort(), await createDatabase('set', server)];
    const env = {
      ...databaseEnv('HUB', database),
      HUB_HOST: '127.0.0.1',
      HUB_PORT: String(port),
      HUB_RATE_LIMIT_RPM: '1000000',
      P2P_VALIDATOR_ADDR: NOWHERE,
      P2P_PORT: String(peerPorts[at]),
      P2P_RECONNECT_BASE: '100',
      P2P_RECONNECT_MAX: '1000',
      SIGNING_PRIVKEY_HEX: seeds[at]!,
      ORACLE_EPOCH_START: String(EPOCH_START),
      HUB_FEDERATION: fileOf(at)
    };
    const process = startServiceProcess('hub', env);
    hubs.push({ name: `hub ${at + 1}`, key: keys[at]!, port, peerPort: peerPorts[at]!, env, database, process });
  }
  return { hubs, file: fileOf(0) };
}

/** Returns what a hub answers. @throws {Error} with the error that it answers, or why it does not */
export async function call(
  { port }: Pick<RealHub, 'port'>,
  method: string,
  params: object = {},
  signal = AbortSignal.timeout(CALL_MS)
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: { 'content-type': 'application/json' },
    signal
  });
  const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: unknown };
  if (error !== undefined) throw new Error(JSON.stringify(error));
  return result;
}

/** Writes an entry with a name of its own. @returns whether the hub answered that it is written */
export async function writeEntry(hub: Pick<RealHub, 'port'>, module: string, signal?: AbortSignal): Promise<boolean> {
  const config = { LTC: { regtest: { [module]: { host: 'h' } } } };
  const { status } = await call(hub, 'updateconfig', { config }, signal);
  return status === 'success';
}

/** Returns whether each hub is connected to so many others. */
export async function areJoined(hubs: readonly RealHub[], peers = hubs.length - 1): Promise<boolean> {
  const all = await Promise.all(hubs.map((hub) => call(hub, 'getfederation')));
  return all.every(({ members }) => members.filter((member: Answer) => member.connected).length === peers + 1);
}

/** Waits until all hubs have what any of them has. @returns the configuration of each */
export async function configurationsOf(hubs: readonly RealHub[]): Promise<readonly Answer[]> {
  const places = await Promise.all(hubs.map(async (hub) => (await call(hub, 'getallconfigs')).seq));
  const last = Math.max(...places);
  return Promise.all(hubs.map(async (hub) => (await call(hub, 'getallconfigs', { min_seq: last })).configs));
}
