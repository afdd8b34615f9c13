import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../../src/db/connection.ts';
import { compareDatabases } from '../../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { openLink } from '../../../test/support/link.ts';
import { createDatabase } from '../../../test/support/mariadb.ts';
import { startLyingSource } from '../../../test/support/sync/lying-source.ts';
import { differences, REPLICA_PREFIX, startPair } from '../../../test/support/sync/sync-pair.ts';
import {
  eventually,
  replicasAt,
  type SyncProcess,
  temporaryDirectory
} from '../../../test/support/sync/sync-process.ts';
import { BlockComparison } from './compare.ts';
import { drawEvent, type SizedEvent } from './events.ts';
import { SizedHistory } from './history.ts';
import { startLiar } from './liar.ts';

/** Time until a replica is complete at a block: without a binary log the largest table is looked through first. */
const COMPLETE_DEADLINE_MS = 300_000;
/** A wait longer than this is told. */
const SLOW_MS = 5_000;
/** Large tables are compared whole after so many blocks, and at the end. */
const WHOLE_EVERY = 100;
/** A table whose right was taken away is told of within this time. */
const TOLD_WITHIN_MS = 10_000;
/** Tables of a server and a replica themselves. */
const CONTROL = ['sync_meta', 'merkle_epochs', 'sync_halt', 'sync_state'];
const MENDED = /differed from its source: repaired|the replica contradicts its source/;

interface SizedCase {
  readonly seed: string;
  readonly blocks: number;
  readonly binlog: 'on' | 'off';
  /** Rows of the tables, at least two sizes, in rising order. */
  readonly sizes: readonly number[];
  /** Events that are left out. */
  readonly without: readonly string[];
  /** The replica has three sources, and the one that it follows first lies now and then. */
  readonly isLiedTo: boolean;
}

interface SizedOutcome {
  readonly blocks: number;
  readonly comparisons: number;
  readonly durationMs: number;
  /** Longest time from a block's commit to the replica's word that it is complete there; ms. */
  readonly slowestMs: number;
  readonly events: Readonly<Record<string, number>>;
  /** Tables that were mended by a comparison, where there is no log. */
  readonly compared: number;
  /** Null when source and replica were equal at each block, and nothing was repaired. */
  readonly failure: string | null;
}

/** Runs one case with tables of several sizes: the replica is compared at every block, as soon as it says that it is complete there. */
export async function runSized(
  of: SizedCase,
  on: Omit<DatabaseCoordinates, 'name'>,
  tell: (line: string) => void = () => undefined
): Promise<SizedOutcome> {
  const startedAt = performance.now();
  const source = await createDatabase('sized', on);
  const history = await SizedHistory.open(of.seed, source, of.sizes);
  const reader = await grantTables(source);
  const stage = await SizedStage.open(of, source, reader, history, tell);
  const events: Record<string, number> = {};
  let failure: string | null = null;
  try {
    await stage.compare('the bootstrap', true);
    for (let block = 1; block <= of.blocks; block += 1) {
      const event = drawEvent(history.random('event', block), of.without);
      events[event] = (events[event] ?? 0) + 1;
      const { waited, compared } = stage.spent; // an event may wait and compare by itself
      const since = performance.now() - waited - compared;
      await stage.carryOut(event);
      stage.spent.written += performance.now() - since - stage.spent.waited - stage.spent.compared;
      await stage.compare(event, block % WHOLE_EVERY === 0 || block === of.blocks);
      if (block % 10 === 0)
        tell(
          `block ${block} of ${of.blocks}: equal; slowest ${Math.round(stage.slowestMs)} ms; ${JSON.stringify(stage.spent, (_, value) => (typeof value === 'number' ? Math.round(value) : value))}`
        );
    }
    await stage.compareDefinitions();
  } catch (caught) {
    failure = `${(caught as Error).message}\n${stage.logs()}`;
  } finally {
    await stage.end();
    for (const name of [source.name, `${REPLICA_PREFIX}${source.name}`])
      await history.run(`DROP DATABASE IF EXISTS \`${name}\``);
    await history.run('RESET MASTER');
    await history.close();
  }
  const { comparisons, compared, slowestMs } = stage;
  return {
    blocks: of.blocks,
    comparisons,
    durationMs: performance.now() - startedAt,
    slowestMs,
    events,
    compared,
    failure
  };
}

/** An account that may read each table by a grant of its own, so that one can be taken away. */
async function grantTables(source: DatabaseCoordinates): Promise<DatabaseCoordinates> {
  const connection = await connect(source);
  const account = `'sized'@'%'`;
  await connection.query(`CREATE USER IF NOT EXISTS ${account} IDENTIFIED BY 'sized'`);
  await connection.query(`GRANT BINLOG MONITOR, REPLICATION SLAVE ON *.* TO ${account}`);
  await connection.query(`GRANT DROP ON \`${REPLICA_PREFIX}%\`.* TO ${account}`);
  await connection.query(`GRANT CREATE, INSERT, UPDATE, DELETE ON \`${source.name}\`.* TO ${account}`);
  const [tables] = await connection.query(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()'
  );
  const names = (tables as unknown as { name: string }[]).map(({ name }) => name);
  for (const name of [...names, ...CONTROL, 'between_sides'])
    await connection.query(`GRANT SELECT, CREATE ON \`${source.name}\`.\`${name}\` TO ${account}`);
  await connection.end();
  return { ...source, user: 'sized', pass: 'sized' };
}

/** Server, client, the wire between them, and what befalls them. */
class SizedStage {
  comparisons = 0;
  slowestMs = 0;
  /** Time so far in which the source was written, the replica was waited for, and both were compared; ms. */
  readonly spent = { written: 0, waited: 0, compared: 0 };
  /** Tables that were mended by a comparison, where there is no log. */
  compared = 0;
  readonly #binlog: SizedCase['binlog'];
  readonly #isLiedTo: boolean;
  readonly #source: DatabaseCoordinates;
  readonly #history: SizedHistory;
  readonly #pair;
  readonly #link;
  readonly #tell: (line: string) => void;
  readonly #comparison: BlockComparison;
  readonly #clientEnv;
  #client: SyncProcess;
  #output = '';

  private constructor(parts: {
    of: SizedCase;
    source: DatabaseCoordinates;
    history: SizedHistory;
    pair: Awaited<ReturnType<typeof startPair>>;
    link: Awaited<ReturnType<typeof openLink>>;
    client: SyncProcess;
    clientEnv: Record<string, string>;
    comparison: BlockComparison;
    tell: (line: string) => void;
  }) {
    this.#binlog = parts.of.binlog;
    this.#isLiedTo = parts.of.isLiedTo;
    this.#source = parts.source;
    this.#history = parts.history;
    this.#pair = parts.pair;
    this.#link = parts.link;
    this.#tell = parts.tell;
    this.#client = parts.client;
    this.#clientEnv = parts.clientEnv;
    this.#comparison = parts.comparison;
  }

  static async open(
    of: SizedCase,
    source: DatabaseCoordinates,
    reader: DatabaseCoordinates,
    history: SizedHistory,
    tell: (line: string) => void
  ): Promise<SizedStage> {
    const pair = await startPair('indexer', reader, {
      LOG_LEVEL: process.env['TORTURE_LEVEL'] ?? 'info',
      SYNC_BINLOG: of.binlog === 'on' ? 'required' : 'off'
    });
    const link = await openLink(pair.server.url);
    const liar = of.isLiedTo ? await startLiar(pair.server.url, of.seed) : null;
    const clientEnv = {
      LOG_LEVEL: process.env['TORTURE_LEVEL'] ?? 'info',
      ...(liar
        ? {
            SYNC_SOURCES: `${liar.url},${link.url},${(await startLyingSource(pair.server.url)).url}`,
            VERIFY_HASHES: 'true'
          }
        : { SYNC_SOURCES: link.url }),
      SYNC_STATE_DIR: temporaryDirectory('client-state'),
      ...replicasAt(source)
    };
    const client = await pair.startClient(clientEnv);
    await eventually(
      'the replica is there',
      COMPLETE_DEADLINE_MS,
      async () => (await pair.status(client).catch(() => ({}) as Record<string, unknown>))['phase'] === 'live'
    );
    // Before it has looked through every table once, a source without a log cannot tell what changed.
    await eventually('the server has looked through every table', COMPLETE_DEADLINE_MS, async () => {
      return (await pair.status(pair.server))['settled_height'] === history.tip.height;
    });
    const comparison = await BlockComparison.open(source, { ...source, name: pair.replica.name }, CONTROL);
    return new SizedStage({ of, source, history, pair, link, client, clientEnv, comparison, tell });
  }

  /** Waits until the replica says that it is complete at the newest block, and compares at once. @throws {Error} saying what differs */
  async compare(what: string, isWhole = false): Promise<void> {
    const { tip } = this.#history;
    const since = performance.now();
    const touched = this.#history.takeTouched();
    while (!(await this.#comparison.isCompleteAt(tip))) {
      if (performance.now() - since > COMPLETE_DEADLINE_MS) {
        const status = await this.#pair.status(this.#client).catch(String);
        throw new Error(`after ${what}: not complete at block ${tip.height}: ${JSON.stringify(status)}`);
      }
      await sleep(15);
    }
    const waited = performance.now() - since;
    if (waited > SLOW_MS) this.#tell(`after ${what}: complete at block ${tip.height} after ${Math.round(waited)} ms`);
    this.slowestMs = Math.max(this.slowestMs, waited);
    this.spent.waited += waited;
    const found = await this.#comparison.differences(this.#history.tables, tip, isWhole ? undefined : touched);
    this.comparisons += 1;
    this.spent.compared += performance.now() - since - waited;
    if (found.length > 0) throw new Error(`after ${what}, block ${tip.height}: ${found.join('; ')}`);
    this.#checkRepairs(what);
  }

  /** Lines about mending by the replica itself so far. */
  get #mended(): string[] {
    return `${this.#output}${this.#client.log()}`.split('\n').filter((line) => MENDED.test(line));
  }

  async carryOut(event: SizedEvent): Promise<void> {
    const history = this.#history;
    const [, , medium, , large] = history.tables;
    const status = 'indexer/litecoin/regtest';
    switch (event) {
      case 'none':
        return history.writeBlock();
      case 'whole':
        return history.writeBlock(() => history.changeAll(medium!.name));
      case 'many':
        return history.writeBlock(() => history.changeAll((large?.isWhole ? large : medium!).name));
      case 'truncate':
        return history.truncate();
      case 'rename':
        return history.swapNames();
      case 'exchange':
        return history.exchangePartition();
      case 'xa':
        return history.commitByXa();
      case 'late':
        return history.commitLate(() => this.compare('a block while rows wait for their commit'));
      case 'column':
        return history.addColumn();
      case 'reorg':
        return history.reorg();
      case 'revoke':
        return this.#revoke();
      case 'cut':
        this.#link.cut();
        return history.writeBlock();
      case 'killSource':
        await this.#pair.server.post(`/debug/actors/${status}/kill`);
        return history.writeBlock();
      case 'killReplica':
        await this.#client.post(`/debug/actors/${status}/kill`);
        return history.writeBlock();
      case 'restartServer':
        await this.#pair.server.end('SIGKILL');
        await history.writeBlock();
        return this.#pair.restartServer();
      case 'restartClient':
        await this.#client.end('SIGKILL');
        this.#output += this.#client.log();
        await history.writeBlock();
        this.#client = await this.#pair.startClient(this.#clientEnv);
    }
  }

  /** Takes the right to read one table away: the server says so, and the replica keeps the table; given back, all goes on. */
  async #revoke(): Promise<void> {
    const table = 'drafts';
    const change = (sql: string) => this.#history.run(sql.replace('#', `\`${this.#source.name}\`.${table}`));
    await change(`REVOKE SELECT ON # FROM 'sized'@'%'`);
    await this.#history.writeBlock();
    let last = '';
    await eventually(`the server tells of ${table}`, TOLD_WITHIN_MS, async () => {
      last = JSON.stringify(await this.#pair.status(this.#pair.server));
      return last.includes(table);
    }).catch((fault: Error) => {
      throw new Error(`${fault.message}; it says ${last}`);
    });
    await change(`GRANT SELECT ON # TO 'sized'@'%'`);
  }

  #checkRepairs(what: string): void {
    const lines = this.#mended.slice(this.compared);
    // Without a log a source that begins anew, or whose message was lost, cannot say what changed: the replica compares, and is not complete meanwhile.
    // Nor does a source that the replica turns to know what another one sent.
    if (this.#binlog === 'off' || this.#isLiedTo) this.compared += lines.length;
    else if (lines.length > 0) throw new Error(`after ${what}: the replica had to mend itself: ${lines.join('\n')}`);
  }

  /** Definitions too, by the command that shares no code with the way here. */
  async compareDefinitions(): Promise<void> {
    const replica = { ...this.#source, name: this.#pair.replica.name };
    const verdict = await compareDatabases(this.#source, replica, { ids: true, order: false });
    if (!verdict.equal) throw new Error(`at the end: ${JSON.stringify(differences(verdict))}`);
  }

  logs(): string {
    const tail = Number(process.env['TORTURE_TAIL'] ?? 6_000);
    return `clients: ${`${this.#output}${this.#client.log()}`.slice(-tail)}\nserver: ${this.#pair.server.log().slice(-tail)}`;
  }

  async end(): Promise<void> {
    this.#comparison.close();
    await this.#client.end();
    await this.#pair.server.end();
  }
}
