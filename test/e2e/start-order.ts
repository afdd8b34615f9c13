import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodeOf } from '../../src/cli/exit-codes.ts';
import { chainNetwork } from '../../src/coin/chains.ts';
import { type Connection, connect } from '../../src/db/connection.ts';
import { freePort } from '../../src/devnet/processes/free-port.ts';
import { type PrivateLitecoind, startLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { createRandom } from '../../src/devnet/random.ts';
import { makeAccounts } from '../../src/installation/accounts.ts';
import { registerModules } from '../../src/installation/modules.ts';
import {
  COMMANDS,
  PARTS,
  type Part,
  type Plan,
  type Ports,
  REPLICA_PREFIX,
  type Server,
  sourceName,
  urlOf
} from '../../src/installation/plan.ts';
import { variablesOf } from '../../src/installation/variables.ts';
import { compareDatabases } from '../../src/verify/compare.ts';
import { DB_TYPES } from '../../src/wire/data/database.ts';
import { atEnd } from '../support/cleanup.ts';
import { startOwnServer } from '../support/mariadb.ts';
import { type StartedProcess, startServiceProcess } from '../support/service-process.ts';
import { eventually } from '../support/sync/sync-process.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const NODE = { user: 'platform', password: 'of-the-node' };
const PASSWORD = 'of-every-account';
const KEY = 'key-of-every-service';
const BLOCKS = 110;
/** Longer than a minute: whom MariaDB refused tries again after one. */
const SETTLED_MS = 180_000;
/** Longest pause between two steps. */
const MOST_PAUSE_MS = 1_500;

/** Services of a network; the miner and the encoder have no database. */
const STARTED = PARTS.filter((part) => part !== 'miner');
const WITH_ACCOUNT = STARTED.filter((part) => part !== 'encoder');

/** A step of an operator: the coin node, a service, or the rights of a service's account. */
export type Step = 'node' | `start ${Part}` | `grant ${Part}`;

/** All steps, in the order of the documents. */
export const USUAL_ORDER: readonly Step[] = [
  'node',
  ...WITH_ACCOUNT.map((part): Step => `grant ${part}`),
  ...STARTED.map((part): Step => `start ${part}`)
];

/** Returns the steps in an order that a seed chooses. */
export function orderOf(seed: string): Step[] {
  const random = createRandom(seed);
  return USUAL_ORDER.map((step) => ({ step, at: random.between(0, 1_000_000) }))
    .sort((a, b) => a.at - b.at)
    .map(({ step }) => step);
}

/** Accounts, node and services of one network, which come in any order. */
class Installation {
  readonly #plan: Plan;
  readonly #root: Server;
  readonly #connection: Connection;
  readonly #directory = mkdtempSync(join(tmpdir(), 'platform-order-'));
  readonly #services = new Map<Part, StartedProcess>();
  #node: PrivateLitecoind | undefined;
  #registered: Promise<void> = Promise.resolve();

  private constructor(plan: Plan, root: Server, connection: Connection) {
    this.#plan = plan;
    this.#root = root;
    this.#connection = connection;
  }

  /** Opens MariaDB, with accounts that have no rights. */
  static async open(): Promise<Installation> {
    const { root } = await startOwnServer(['--log-bin=binlog', '--binlog-format=ROW']);
    const connection = await connect(root);
    atEnd(async () => connection.destroy());
    for (const part of WITH_ACCOUNT)
      await connection.query(`CREATE USER '${part}'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}'`);
    await connection.query('SET GLOBAL local_infile = 1');
    const ports = Object.fromEntries(await Promise.all(PARTS.map(async (part) => [part, await freePort()]))) as Ports;
    const directory = mkdtempSync(join(tmpdir(), 'platform-order-state-'));
    const plan: Plan = {
      network: NETWORK,
      host: '127.0.0.1',
      ports,
      apiKey: KEY,
      node: { host: '127.0.0.1', port: await freePort(), ...NODE },
      serverFor: (part) => ({ host: root.host, port: root.port, user: part, pass: PASSWORD }),
      hubDatabase: 'Platform_Hub',
      stateDirectory: (part) => join(directory, part)
    };
    return new Installation(plan, root, connection);
  }

  async take(step: Step): Promise<void> {
    const [word, part] = step.split(' ') as [string, Part];
    if (step === 'node') this.#node = await startLitecoind(this.#directory, { ...NODE, rpcPort: this.#plan.node.port });
    else if (word === 'grant') await makeAccounts(this.#connection, this.#plan, [part], '127.0.0.1');
    else this.#start(part);
  }

  #start(part: Part): void {
    this.#spawn(part);
    // An operator tells the hub where everything is, as soon as it takes that.
    if (part !== 'hub') return;
    this.#registered = eventually('the hub takes modules', SETTLED_MS, () => {
      this.#startHubAgain();
      return done(registerModules(this.#plan));
    });
    this.#registered.catch(() => undefined); // told below
  }

  /** A hub ends where its account may not make its database: the operator starts it again. */
  #startHubAgain(): void {
    const { child, output } = this.#services.get('hub')!;
    if (child.exitCode === null) return;
    assert.equal(child.exitCode, exitCodeOf('DATABASE_REFUSED'), output());
    this.#spawn('hub');
  }

  #spawn(part: Part): void {
    const variables = { ...variablesOf(this.#plan, part), DECODER_POLL_INTERVAL: 200, INDEXER_POLL_INTERVAL: 200 };
    const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)]));
    this.#services.set(part, startServiceProcess(COMMANDS[part], env));
  }

  /** Waits until every service is ready and both replicas equal their sources at the node's block. */
  async settles(): Promise<void> {
    await this.#registered;
    await this.#node!.mine(BLOCKS);
    const height = await this.#node!.height();
    for (const part of STARTED)
      await eventually(`${part} is ready`, SETTLED_MS, async () => {
        const { child, output } = this.#services.get(part)!;
        assert.equal(child.exitCode, null, `${part} ended:\n${output().slice(-2_000)}`);
        return (await fetch(`${urlOf(this.#plan, part)}/readyz`).catch(() => null))?.status === 200;
      });
    for (const dbType of DB_TYPES) {
      const name = sourceName(NETWORK, dbType);
      await eventually(`the replica of ${name} equals it at block ${height}`, SETTLED_MS, () =>
        this.#isEqual(name, height)
      );
    }
  }

  async #isEqual(name: string, height: number): Promise<boolean> {
    const on = (database: string) => ({ ...this.#root, name: database });
    const replica = REPLICA_PREFIX + name;
    const [[found]] = (await this.#connection
      .query(`SELECT MAX(block_index) AS height FROM \`${replica}\`.blocks`)
      .catch(() => [[]])) as [{ height: number }[]];
    if (Number(found?.height) !== height) return false;
    return (await compareDatabases(on(name), on(replica)).catch(() => null))?.equal === true;
  }

  /** Ends everything, for the next order. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#services.values()].map(async ({ child, exited }) => {
        child.kill('SIGTERM');
        await exited;
      })
    );
    await this.#node?.stop('SIGKILL');
  }
}

const done = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false
  );

/** Takes all steps in an order, with pauses, and waits until all is well. */
export function startOrderTest(title: string, order: readonly Step[], pauseSeed: string): void {
  test(`${title}: ${order.join(', ')}`, async () => {
    const random = createRandom(pauseSeed);
    const installation = await Installation.open();
    try {
      for (const step of order) {
        await installation.take(step);
        await sleep(random.between(0, MOST_PAUSE_MS));
      }
      await installation.settles();
    } finally {
      await installation.close();
    }
  });
}
