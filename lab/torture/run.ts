import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../src/errors.ts';
import { compareDatabases, type Verdict } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { type Link, openLink } from '../../test/support/link.ts';
import { createDatabase } from '../../test/support/mariadb.ts';
import { differences, type SyncPair, startPair } from '../../test/support/sync/sync-pair.ts';
import { type SyncProcess, temporaryDirectory } from '../../test/support/sync/sync-process.ts';
import { InUseWriter } from './in-use-writer.ts';
import { LedgerWriter } from './ledger-writer.ts';
import { type Case, type Disturbance, planSteps, randomAt } from './plan.ts';
import { InventedWriter } from './writer.ts';

/** Time to become live at the source's tip, then to be equal: at equal height the tip may still be the orphaned one. */
const LIVE_DEADLINE_MS = 100_000;
const EQUAL_DEADLINE_MS = 15_000;
/** A supervisor gives up on an actor that ends more often than this in its window. */
const KILLS_AT_MOST = 6;
const KILL_WINDOW_MS = 300_000;
const LOG_TAIL = Number(process.env['TORTURE_TAIL'] ?? 6_000);
/** Lines of a client's log when it repairs, or gives itself up: nothing that a source writes may lead to that. */
const MENDED = /differed from its source: repaired|the replica contradicts its source/;

const WRITERS = { invented: InventedWriter, 'in-use': InUseWriter, ledger: LedgerWriter } as const;

export interface Outcome {
  readonly blocks: number;
  readonly settled: number;
  readonly durationMs: number;
  /** Names of all tables. */
  readonly tables: readonly string[];
  /** Null when replica and source were equal each time. */
  readonly failure: Failure | null;
}

export interface Failure {
  readonly step: number;
  readonly reason: string;
  /** Differences, or the last words of the processes. */
  readonly detail: string;
  readonly databases: { readonly source: DatabaseCoordinates; readonly replica: DatabaseCoordinates };
}

/** Runs one case: a writer, a server and a client as processes of their own, and what befalls them. */
export async function runCase(of: Case, tell: (line: string) => void = () => undefined): Promise<Outcome> {
  const startedAt = performance.now();
  const source = await createDatabase('torture');
  const writer = await WRITERS[of.schema].open(of, source);
  const stage = await Stage.open(of, source);
  let settled = 0;
  let failure: Failure | null = null;
  let step = 0;
  let wrote = 'nothing';
  const compare = async (height: number) => {
    const waiting = performance.now();
    const found = await stage.settle(height);
    const waited = ((performance.now() - waiting) / 1000).toFixed(1);
    settled += 1;
    if (found) failure = { step, ...found, databases: { source, replica: stage.pair.replica } };
    else tell(`step ${step}: equal at block ${height} after ${waited} s; before: ${wrote}`);
  };
  const settle = async () => {
    await writer.write({ kind: 'blocks', count: 1, how: 'one' });
    await compare(writer.height);
  };
  try {
    for (const planned of planSteps(of)) {
      step = planned.number;
      const { step: next } = planned;
      if (next.kind === 'settle') await settle();
      else if (next.kind === 'disturb') stage.disturb(next.what);
      else if (next.kind === 'pause') await sleep(next.ms);
      else {
        const [height, isLate] = [writer.height, writer.isLate];
        await writer.write(next, async () => {
          if (!isLate) await compare(height);
        });
      }
      wrote = JSON.stringify(next);
      if (failure) break;
    }
    if (!failure) await settle();
    return {
      blocks: of.blocks,
      settled,
      durationMs: performance.now() - startedAt,
      tables: writer.tables,
      failure
    };
  } finally {
    await stage.end();
    await writer.close();
  }
}

/** Server, client and the wire between them. */
class Stage {
  readonly pair: SyncPair;
  readonly #link: Link;
  readonly #clientEnv: Readonly<Record<string, string>>;
  readonly #kills: number[] = [];
  readonly #random;
  readonly #status: string;
  #client: SyncProcess;
  /** Output of clients that were killed. */
  #output = '';
  /** Settles when a disturbance is over: a process that starts again. */
  #recovery: Promise<void> = Promise.resolve();

  private constructor(of: Case, pair: SyncPair, link: Link, client: SyncProcess, clientEnv: Record<string, string>) {
    this.pair = pair;
    this.#link = link;
    this.#client = client;
    this.#clientEnv = clientEnv;
    this.#random = randomAt(of, 'stage');
    this.#status = `${of.dbType}/litecoin/regtest`;
  }

  static async open(of: Case, source: DatabaseCoordinates): Promise<Stage> {
    const pair = await startPair(of.dbType, source, { LOG_LEVEL: 'info' });
    const link = await openLink(pair.server.url);
    const clientEnv = {
      LOG_LEVEL: 'info',
      SYNC_SOURCES: link.url,
      SYNC_STATE_DIR: temporaryDirectory('client-state')
    };
    return new Stage(of, pair, link, await pair.startClient(clientEnv), clientEnv);
  }

  /** Begins a disturbance and returns at once: the source goes on meanwhile. */
  disturb(what: Disturbance): void {
    this.#recovery = this.#recovery.then(() => this.#do(what));
    this.#recovery.catch(() => undefined); // told by whoever settles next
  }

  async #do(what: Disturbance): Promise<void> {
    switch (what) {
      case 'cutLink':
        return this.#link.cut();
      case 'holdLink':
        return this.#link.hold(this.#random.between(50, 1_500));
      case 'killSource':
        return this.#killActor(this.pair.server);
      case 'killReplica':
        return this.#killActor(this.#client);
      case 'killServer':
        await this.pair.server.end('SIGKILL');
        return this.pair.restartServer();
      case 'killClient':
        await this.#client.end('SIGKILL');
        this.#output += this.#client.log();
        this.#client = await this.pair.startClient(this.#clientEnv);
    }
  }

  async #killActor(process: SyncProcess): Promise<void> {
    const now = Date.now();
    if (this.#kills.filter((at) => at > now - KILL_WINDOW_MS).length >= KILLS_AT_MOST) return;
    this.#kills.push(now);
    await process.post(`/debug/actors/${this.#status}/kill`); // an actor that is down already is no matter
  }

  /** Waits until the replica is live at this height and equal. @returns why it is not, or null */
  async settle(height: number): Promise<Pick<Failure, 'reason' | 'detail'> | null> {
    await this.#recovery;
    for (let deadline: number | null = null; ; await sleep(100)) {
      const late = await this.#untilLive(height);
      if (late) return late;
      deadline ??= Date.now() + EQUAL_DEADLINE_MS;
      const verdict = await this.#compare();
      if (verdict?.equal) return this.#mended(height);
      if (Date.now() < deadline) continue;
      const tables = (verdict?.tables ?? []).filter(({ equal }) => !equal).map(({ table }) => table);
      const found = verdict && `${JSON.stringify(differences(verdict), null, 1)}\n${JSON.stringify(verdict.heights)}`;
      return {
        reason: `block ${height}: ${tables.join(', ') || 'the height'} differs`,
        detail: `${found ?? 'the replica lacks a table'}\n${this.#logs()}`
      };
    }
  }

  /** A difference that the replica found and mended by itself, before it could be seen here, was one all the same. */
  #mended(height: number): Pick<Failure, 'reason' | 'detail'> | null {
    const lines = `${this.#output}${this.#client.log()}`.split('\n').filter((line) => MENDED.test(line));
    if (lines.length === 0) return null;
    return {
      reason: `block ${height}: the replica had to mend itself`,
      detail: `${lines.join('\n')}\n${this.#logs()}`
    };
  }

  /** @returns null while the replica's tables are made anew */
  async #compare(): Promise<Verdict | null> {
    try {
      return await compareDatabases(this.pair.source, this.pair.replica, { ids: true, order: false });
    } catch (caught) {
      if (hasCode(caught, 'DATABASE_UNAVAILABLE')) return null;
      throw caught;
    }
  }

  async #untilLive(height: number): Promise<Pick<Failure, 'reason' | 'detail'> | null> {
    let last: Record<string, unknown> = {};
    for (const deadline = Date.now() + LIVE_DEADLINE_MS; Date.now() < deadline; await sleep(25)) {
      last = await this.#client.get(`/status/${this.#status}`).then(
        ({ body }) => body,
        () => ({})
      );
      if (last['block_height'] === height && last['phase'] === 'live') return null;
      if (last['halted'] === true || last['phase'] === 'failed' || this.#client.child.exitCode !== null) break;
    }
    return {
      reason: `block ${height}: the client is not live there; it says ${JSON.stringify(last)}`,
      detail: this.#logs()
    };
  }

  #logs(): string {
    return `clients: ${`${this.#output}${this.#client.log()}`.slice(-LOG_TAIL)}\nserver: ${this.pair.server.log().slice(-LOG_TAIL)}`;
  }

  async end(): Promise<void> {
    await this.#recovery.catch(() => undefined);
    await this.#client.end();
    await this.pair.server.end();
  }
}
