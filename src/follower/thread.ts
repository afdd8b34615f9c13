import { availableParallelism } from 'node:os';
import { TaskPool } from '../../actors/runtime/task-pool.ts';
import type { Tasks } from '../../actors/runtime/tasks.ts';
import type { ActorHost } from '../../actors/runtime/thread/actor-host.ts';
import { type Chain, type ChainNetwork, chainNetwork, type Network } from '../coin/chains.ts';
import { NodeChain } from '../coin/node/node-chain.ts';
import { NodeRpc, type NodeRpcOptions } from '../coin/node/node-rpc.ts';
import { createLogger, type Logger } from '../log.ts';
import type { DatabaseCoordinates } from '../wire/data/database.ts';
import { actorKey } from '../wire/state/actor.ts';
import { ChainLoop, type ChainLoopOptions } from './loop.ts';
import { MempoolLoop, type MempoolSteps } from './mempool-loop.ts';
import { scanParallelism } from './range-feed.ts';
import { type ChainReport, isNearTip } from './report.ts';
import { reportUntil } from './reporting.ts';
import { RETRY_DELAY_MS } from './run.ts';

/** Start data of the thread of an actor that writes a chain. */
export interface ChainThreadData {
  readonly chain: Chain;
  readonly network: Network;
  readonly node: NodeRpcOptions;
  readonly coordinates: DatabaseCoordinates;
  readonly pollIntervalMs: number;
  readonly queryTimeoutMs: number;
  readonly logLevel: string;
}

/** The parts by which one service differs from others that follow a chain. */
interface ChainThreadRun<Report extends ChainReport> extends Pick<ChainLoopOptions, 'machine' | 'work'> {
  readonly host: ActorHost<Record<never, never>, { report: Report }>;
  /** The blocks that are fetched ahead: it counts attempts that failed. */
  readonly feed: { readonly errorCount: number };
  readonly mempoolPass: MempoolSteps;
  /** Pause between two looks at the mempool; default 60 s. */
  readonly mempoolRestMs?: number;
  /** The report of this service, from what any loop says of itself. */
  readonly reportOf: (report: ChainReport) => Report;
}

/** By state of the machine: the thing that the loop waits for. */
const WAITS: Readonly<Record<string, string>> = {
  connecting: 'database',
  reconnecting: 'database',
  waitingForNode: 'coin node',
  nodeBehind: 'blocks of the coin node',
  refusedByDatabase: 'a table that takes the rows',
  'parsing.caughtUp': 'next block',
  halted: 'operator'
};

/** A thread that writes the blocks of a coin node into a database: the node, a pool that reads blocks, and the loop. */
export class ChainThread<T extends Tasks> {
  readonly log: Logger;
  readonly network: ChainNetwork;
  readonly rpc: NodeRpc;
  readonly chain: NodeChain;
  /** Blocks that are read at once. */
  readonly parallelism = scanParallelism(availableParallelism());
  readonly tasks: TaskPool<T>;
  readonly #service: 'decoder' | 'tracker';
  readonly #stopping = new AbortController();
  #ended: Promise<void> = Promise.resolve();
  #tell: () => void = () => undefined;

  constructor(service: 'decoder' | 'tracker', { chain, network, node, coordinates, logLevel }: ChainThreadData) {
    this.#service = service;
    this.log = createLogger(service, logLevel).child({
      database: actorKey({ kind: service, chain, network }),
      schema: coordinates.name
    });
    this.network = chainNetwork(chain, network);
    this.rpc = new NodeRpc(node);
    this.chain = new NodeChain(this.rpc);
    this.tasks = new TaskPool<T>({ maxThreads: this.parallelism });
  }

  /** Writes blocks and tells the main thread how things stand, until `stop`. */
  async run<Report extends ChainReport>(run: ChainThreadRun<Report>): Promise<void> {
    const { host, machine, work, feed, mempoolPass, mempoolRestMs, reportOf } = run;
    const loop = new ChainLoop({
      machine,
      work,
      counters: [this.rpc, feed],
      silentMs: () => this.rpc.silentMs,
      retryDelayMs: RETRY_DELAY_MS,
      log: this.log,
      inspect: host.observe(this.#service)
    });
    const mempool = new MempoolLoop({
      pass: mempoolPass,
      ...(mempoolRestMs === undefined ? {} : { restMs: mempoolRestMs }),
      log: this.log,
      inspect: host.observe('mempool')
    });
    this.#ended = loop.run(this.#stopping.signal).then(() => this.#release(mempool), host.fail);
    this.#tell = () => host.tell('report', reportOf(loop.report));
    let alarm = '';
    await reportUntil<Report>(this.#stopping.signal, {
      host,
      waits: WAITS,
      read: async () => {
        await loop.probe();
        work.watchNode(this.#stopping.signal);
        return reportOf(loop.report);
      },
      onTold: (report) => {
        void loop.tellReaders(report);
        mempool.setSynced(isNearTip(report));
        const { code = '', reason, remedy } = report.alarm ?? {};
        if (code !== alarm && code !== '') this.log.warn({ code, hint: remedy }, `waiting: ${reason}`);
        else if (code !== alarm) this.log.info({ code: alarm }, 'no longer waiting: the cause is gone');
        alarm = code;
      }
    });
  }

  /** Tells the main thread how things stand by now. */
  readonly tell = (): void => this.#tell();

  /** Returns after the effect that is under way, all connections released. */
  readonly stop = async (): Promise<void> => {
    this.#stopping.abort();
    await this.#ended;
  };

  async #release(mempool: MempoolLoop): Promise<void> {
    mempool.stop();
    await this.tasks.close();
    await this.rpc.close();
  }
}
