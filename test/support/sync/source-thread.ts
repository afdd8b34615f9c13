import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ActorHandle, actorEntry } from '../../../actors/runtime/supervision/actor-handle.ts';
import type { ActorNotices, MainAsks, SourceActorData, SourceAsks } from '../../../src/replication/protocol.ts';
import {
  advance,
  isStep,
  type ResumePoint,
  type ResumeStep
} from '../../../src/replication/source/reading/resume-point.ts';
import type { DatabaseCoordinates, DbType } from '../../../src/wire/data/database.ts';
import type { AmendmentMessage, BlockMessage, ReorgMessage, SettledMessage } from '../../../src/wire/data/messages.ts';
import type { DatabaseReport } from '../../../src/wire/state/report.ts';
import balanceTops from '../../../workers/sync/balance-tops.ts';
import merkleEpochs from '../../../workers/sync/merkle-epochs.ts';
import { PATIENCE_MS } from '../patience.ts';
import { UNHEARD } from '../unheard.ts';

/** The finder's key of sources and snapshots under test. */
export const TEST_KEY = '0123456789abcdef0123456789abcdef';

/** A real source actor in its thread, and everything that it said. */
export class SourceThread {
  readonly handle: ActorHandle<SourceAsks, MainAsks, ActorNotices>;
  readonly messages: (BlockMessage | ReorgMessage)[] = [];
  /** Messages that it sent after a block, to subscribers that ask for them. */
  readonly after: (AmendmentMessage | SettledMessage)[] = [];
  readonly infra: (BlockMessage | ReorgMessage)[] = [];
  readonly states: string[] = [];
  resume: ResumePoint | null = null;
  report: DatabaseReport | undefined;
  readonly stateDirectory: string;
  /** Whether it is told that a subscriber takes no amendments: the next group brings them again. */
  isPlain = false;

  /** One that ends with its test. */
  static start(test: TestContext, ...[to, dbType, options]: ConstructorParameters<typeof SourceThread>): SourceThread {
    const source = new SourceThread(to, dbType, options);
    test.after(() => source.kill());
    return source;
  }

  constructor(to: DatabaseCoordinates, dbType: DbType, options: Partial<SourceActorData> = {}) {
    this.stateDirectory = mkdtempSync(join(tmpdir(), 'platform-test-'));
    const workerData: SourceActorData = {
      id: { dbType, chain: 'litecoin', network: 'regtest' },
      generation: 1,
      coordinates: to,
      resume: null,
      finderKey: TEST_KEY,
      readOnly: false,
      stateDirectory: this.stateDirectory,
      pollIntervalMs: 20,
      epochSize: 10,
      stateDomain: 'PLATFORM',
      localTables: [],
      binlog: 'off',
      compatibleClients: false,
      settleBudgetMs: 5_000,
      circuitFailures: 10,
      circuitCooldownMs: 300,
      logLevel: 'fatal',
      ...options
    };
    this.handle = new ActorHandle<SourceAsks, MainAsks, ActorNotices>({
      entry: actorEntry('source'),
      name: `test ${to.name}`,
      workerData,
      mailboxLimit: 64,
      onFault: () => undefined,
      listeners: {
        ...UNHEARD,
        report: (report) => {
          this.report = report;
        },
        transition: ({ to }) => {
          this.states.push(to);
        }
      },
      handlers: {
        'sync/balance-tops': balanceTops,
        'sync/merkle-epochs': merkleEpochs,
        'resume.keep': ({ resume }) => {
          this.#keep(resume);
          return {};
        },
        broadcast: ({ messages, resume }) => {
          for (const { type, bytes, infraBytes } of messages) {
            if (type === 'amendment' || type === 'settled') {
              this.after.push(decode(bytes));
              continue;
            }
            this.messages.push(decode(bytes));
            if (infraBytes) this.infra.push(decode(infraBytes));
          }
          this.#keep(resume);
          return { plain: this.isPlain };
        }
      }
    });
  }

  /** As a resume point store does. */
  #keep(resume: ResumePoint | ResumeStep): void {
    this.resume = isStep(resume) ? advance(this.resume!, resume) : resume;
  }

  /** Fulfilled when the last broadcast block is the one at `height`, with this hash when given. */
  async reaches(height: number): Promise<void> {
    await this.until(
      () => this.resume?.height === height && this.report?.phase === 'polling.caughtUp',
      `height ${height}`
    );
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while (!condition()) {
      if (Date.now() > deadline) {
        throw new Error(`${what} was not reached: ${JSON.stringify({ ...this.report, at: this.resume?.height })}`);
      }
      await sleep(10);
    }
  }

  /** Ends the thread as a crash would. */
  async kill(): Promise<void> {
    await this.handle.terminate();
    rmSync(this.stateDirectory, { recursive: true, force: true });
  }
}

function decode<T>(bytes: Uint8Array): T {
  return JSON.parse(new TextDecoder().decode(bytes)) as T;
}
