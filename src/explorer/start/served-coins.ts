import type { ExplorerActorData, ExplorerAsks } from '../../../actors/explorer/actor.ts';
import type { ChainNetwork } from '../../coin/chains.ts';
import type { Logger } from '../../log.ts';
import type { OpenLoops } from '../../service/life/supervised.ts';
import type { LoopView } from '../../wire/state/loop-view.ts';
import type { Coin } from '../coins.ts';
import { askIndexer } from '../indexer-calls.ts';
import type { ExplorerReport } from '../report.ts';
import type { ExploredNetwork } from './explored-networks.ts';

/** A network that is served. */
interface Served {
  readonly coin: Coin;
  readonly end: AbortController;
  where: ExploredNetwork;
}

interface ServedCoinsOptions {
  readonly loops: Pick<OpenLoops<ExplorerReport, ExplorerAsks>, 'supervisor' | 'viewOf' | 'startLoop'>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Milliseconds that one read may take. */
  readonly readLimitMs: number;
  readonly cursorSecret: string;
  readonly graceMs: number;
  readonly logLevel: string;
}

/** Time of a question in addition to the read itself and the wait for a connection, which are limited alike. */
const PATIENCE_MS = 3_000;
/** Copies that one question has time to be asked of, one after the other. */
const MOST_ASKED = 2;

const databasesOf = ({ replicas }: ExploredNetwork) => JSON.stringify(replicas);
const idOf = ({ chain, network }: ChainNetwork) => ({ kind: 'explorer', chain, network }) as const;

/** Returns an actor's last report; of one that is down or silent, that it is unavailable. */
export function reportOf({ report, crash }: LoopView<ExplorerReport>): ExplorerReport | null {
  if (report === null || crash === null) return report;
  return { ...report, state: 'unavailable', mark: null, decoderTip: null, lastError: crash };
}

/** The networks that an explorer serves, with one actor each. */
export class ServedCoins {
  readonly #options: ServedCoinsOptions;
  /** By the network's public code. */
  readonly #served = new Map<string, Served>();

  constructor(options: ServedCoinsOptions) {
    this.#options = options;
  }

  /** Returns the served networks. */
  list(): Coin[] {
    return [...this.#served.values()].map(({ coin }) => coin);
  }

  /** Serves these networks. Those in `left` stay as they are; all others end. */
  async serve(networks: readonly ExploredNetwork[], left: readonly ChainNetwork[] = []): Promise<void> {
    const stay = new Set([...networks.map(({ network }) => network), ...left].map(({ code }) => code));
    for (const [code, served] of [...this.#served]) if (!stay.has(code)) await this.#end(code, served);
    for (const where of networks) {
      const served = this.#served.get(where.network.code);
      if (!served) this.#begin(where);
      else if (databasesOf(served.where) !== databasesOf(where)) await this.#move(served, where);
      else served.where = where;
    }
  }

  #begin(where: ExploredNetwork): void {
    const { loops, log, readLimitMs, cursorSecret, logLevel } = this.#options;
    const { network } = where;
    const id = idOf(network);
    const end = new AbortController();
    const whereNow = () => this.#served.get(network.code)?.where ?? where;
    const patience = () => {
      const asked = Math.min(whereNow().replicas.length, MOST_ASKED);
      return { deadlineMs: 2 * readLimitMs * asked + PATIENCE_MS, isRoutine: true };
    };
    const coin: Coin = {
      network,
      gone: end.signal,
      report: () => reportOf(loops.viewOf(id)),
      askIndexer: (method, params) => askIndexer(whereNow().api, method, params),
      read: (question) => loops.supervisor.handle(id).ask('read', question, patience())
    };
    this.#served.set(network.code, { coin, end, where });
    log.info({ network: network.name }, 'network is served');
    loops.startLoop(id, (): ExplorerActorData => {
      const { replicas } = whereNow();
      return { chain: network.chain, network: network.network, replicas, readLimitMs, cursorSecret, logLevel };
    });
  }

  async #move(served: Served, where: ExploredNetwork): Promise<void> {
    const { loops, log, graceMs } = this.#options;
    served.where = where;
    log.info(
      { network: where.network.name },
      'the hub names other databases or accounts for this network; its actor restarts'
    );
    await loops.supervisor.restart(idOf(where.network), graceMs);
  }

  async #end(code: string, { coin, end }: Served): Promise<void> {
    const { loops, log, graceMs } = this.#options;
    this.#served.delete(code);
    end.abort();
    log.warn({ network: coin.network.name }, 'the hub no longer names the databases of this network; its actor stops');
    await loops.supervisor.stop(idOf(coin.network), graceMs);
  }
}
