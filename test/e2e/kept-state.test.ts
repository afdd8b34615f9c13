import assert from 'node:assert/strict';
import { chmodSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { createDatabase } from '../support/mariadb.ts';
import { databaseEnv, type StartedProcess, startServiceProcess } from '../support/service-process.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

const KEY = 'key-of-kept-state';
const HEADERS = { 'x-api-key': KEY, 'content-type': 'application/json' };

type Environment = Readonly<Record<string, string>>;

/** A service that is started again and again with the same settings. */
class Kept {
  readonly url: string;
  readonly #name: string;
  readonly #env: Environment;
  #process: StartedProcess | undefined;

  constructor(name: string, port: number, env: Environment) {
    this.#name = name;
    this.#env = env;
    this.url = `http://127.0.0.1:${port}`;
  }

  get output(): string {
    return this.#process?.output() ?? '';
  }

  /** Ends it by a signal, where it runs, and starts it. */
  async startAfter(signal: NodeJS.Signals): Promise<void> {
    this.#process?.child.kill(signal);
    await this.#process?.exited;
    this.#process = startServiceProcess(this.#name, this.#env);
    const answers = async () => (await fetch(`${this.url}/livez`)).ok;
    await eventually(`${this.#name} answers`, () => answers().catch(() => false));
  }

  async press(action: string): Promise<void> {
    const url = `${this.url}/debug/actors/decoder/litecoin/regtest/${action}`;
    const { status } = await fetch(url, { method: 'POST', headers: { 'x-api-key': KEY } });
    assert.equal(status, 202, action);
  }

  /** The decoder's actor. */
  async actor(): Promise<{ readonly state: string; readonly reason: { readonly message: string } | null }> {
    const [found] = (await (await fetch(`${this.url}/debug/actors`, { headers: HEADERS })).json()) as [
      { state: string; reason: { message: string } | null }
    ];
    return found;
  }

  /** Operation and reason of each entry of the audit, oldest first. */
  async audit(): Promise<readonly (readonly [string, string | null])[]> {
    const report = await (await fetch(`${this.url}/debug/audit`, { headers: HEADERS })).json();
    const entries = report as readonly { readonly operation: string; readonly reason: string | null }[];
    return entries.map(({ operation, reason }) => [operation.split('/').at(-1)!, reason] as const).toReversed();
  }
}

/** A decoder whose coin node does not answer: its actor waits for that. */
async function decoderIn(state: string, name: string): Promise<Kept> {
  const port = await freePort();
  return new Kept('decoder', port, {
    NETWORK: 'litecoin-regtest',
    NODE_URL: '127.0.0.1',
    NODE_PORT: '1',
    NODE_USER: 'nobody',
    NODE_PASSWORD: 'password-of-nobody',
    ...databaseEnv('DECODER', await createDatabase(name)),
    DECODER_API_HOST: '127.0.0.1',
    DECODER_API_PORT: String(port),
    DECODER_API_KEY: KEY,
    STATE_DIR: state
  });
}

const portOf = ({ url }: Kept) => new URL(url).port;

test('pause and audit log outlive a kill and a stop, and another replica of the service on the machine has its own', async () => {
  const state = temporaryDirectory('kept');
  const [one, other] = [await decoderIn(state, 'kept_one'), await decoderIn(state, 'kept_other')];
  await Promise.all([one.startAfter('SIGTERM'), other.startAfter('SIGTERM')]);
  assert.deepEqual(readdirSync(state), [], 'nothing is made before an operator does something');
  await one.press('pause?reason=change%20of%20the%20disk');
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await Promise.all([one.startAfter(signal), other.startAfter(signal)]);
    const { state: is, reason } = await one.actor();
    assert.equal(is, 'paused');
    assert.match(reason!.message, /^an operator paused it at 20\S+Z \(from 127\.0\.0\.1: change of the disk\)/);
    assert.deepEqual(await one.audit(), [['pause', 'change of the disk']]);
    assert.notEqual((await other.actor()).state, 'paused');
    assert.deepEqual(await other.audit(), []);
  }
  await other.press('kill');
  await one.press('restart');
  await one.startAfter('SIGKILL');
  assert.notEqual((await one.actor()).state, 'paused');
  assert.deepEqual(await one.audit(), [
    ['pause', 'change of the disk'],
    ['restart', null]
  ]);
  const directories = [one, other].map((each) => `decoder-${portOf(each)}`);
  assert.deepEqual(readdirSync(state).sort(), directories.toSorted());
  for (const directory of directories) assert.equal(statSync(join(state, directory)).mode & 0o777, 0o700);
});

test('a directory that others can write to is not believed: a stranger could pause a service', async () => {
  const state = temporaryDirectory('written');
  const decoder = await decoderIn(state, 'kept_written');
  await decoder.startAfter('SIGTERM');
  await decoder.press('pause');
  chmodSync(join(state, `decoder-${portOf(decoder)}`), 0o777);
  await decoder.startAfter('SIGTERM');
  assert.notEqual((await decoder.actor()).state, 'paused');
  assert.match(
    decoder.output,
    /STATE_DIR: \S+ can be written to by other users \(mode 777\): pauses and the audit log/
  );
});

test('the audit log of a service without actors outlives a kill: a hub tells who changed its configuration', async () => {
  const state = temporaryDirectory('hub');
  const port = await freePort();
  const hub = new Kept('hub', port, {
    ...databaseEnv('HUB', await createDatabase('kept_hub')),
    HUB_HOST: '127.0.0.1',
    HUB_PORT: String(port),
    HUB_API_KEY: KEY,
    STATE_DIR: state
  });
  const ready = async () => (await fetch(`${hub.url}/readyz`)).ok;
  await hub.startAfter('SIGTERM');
  await eventually('the hub is ready', () => ready().catch(() => false));
  const config = { litecoin: { regtest: { 'x-indexer': { pass: 'secret-of-a-database' } } } };
  const call = { jsonrpc: '2.0', method: 'updateconfig', params: { config }, id: 1 };
  const answer = await fetch(`${hub.url}/`, { method: 'POST', headers: HEADERS, body: JSON.stringify(call) });
  assert.equal(((await answer.json()) as { error?: unknown }).error, undefined);
  await hub.startAfter('SIGKILL');
  assert.deepEqual(await hub.audit(), [['updateconfig', null]]);
});
