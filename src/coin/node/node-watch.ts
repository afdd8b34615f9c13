import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../../errors.ts';
import { type Alarm, alarmOf } from '../../wire/state/alarm.ts';
import type { ChainNetwork } from '../chains.ts';
import type { NodeChain, NodeNeeds, NodeTip } from './node-chain.ts';

/** The node, its requirements and the callback. */
interface NodeWatchOptions {
  readonly chain: NodeChain;
  readonly network: ChainNetwork;
  readonly needs: NodeNeeds;
  /** Returns the milliseconds for which the node has left a request unanswered. */
  readonly silentMs: () => number;
  /** Called when an alarm begins, ends or changes. */
  readonly onAlarm: (alarm: Alarm | null) => void;
  /** Milliseconds between two checks; default 2 s. */
  readonly everyMs?: number;
}

const LOOK_EVERY_MS = 2_000;
/** Silence from which an alarm is raised. */
const SILENCE_MS = 5_000;

/** Watches a coin node, so that probes need not wait for it. Times are those of performance.now(). */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  #tip: NodeTip | null = null;
  #seenAt: number | null = null;
  #alarm: Alarm | null = null;
  #reported: string | undefined;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  /** Newest block at the last good check; null before it. */
  get tip(): NodeTip | null {
    return this.#tip;
  }

  /** Milliseconds since the last good check; null before it. */
  get ageMs(): number | null {
    return this.#seenAt === null ? null : Math.max(0, performance.now() - this.#seenAt);
  }

  /** Reason why the node cannot be used; null when it can, or before the first check. */
  get alarm(): Alarm | null {
    const silentMs = this.#options.silentMs();
    if (silentMs < SILENCE_MS) return this.#alarm;
    const error = new PlatformError('NODE_UNREACHABLE', { reason: 'the coin node does not answer' });
    return alarmOf(error, null, performance.now() - silentMs);
  }

  /** Whether the node can be used, as far as known. */
  get isFit(): boolean {
    return this.#tip !== null && this.alarm === null;
  }

  /** Checks the node until the signal aborts. @throws {PlatformError} NODE_MISMATCH for a node of another chain */
  async run(signal: AbortSignal): Promise<void> {
    const reporter = setInterval(() => this.#reportAlarm(), 1_000);
    try {
      while (!signal.aborted) {
        await this.#look(signal);
        this.#reportAlarm();
        await sleep(this.#options.everyMs ?? LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      clearInterval(reporter);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { chain, network, needs } = this.#options;
    try {
      this.#tip = await chain.verify(network, needs, signal);
      this.#seenAt = performance.now();
      this.#alarm = null;
    } catch (caught) {
      if (signal.aborted) return;
      if (hasCode(caught, 'NODE_MISMATCH')) throw caught;
      this.#alarm = alarmOf(PlatformError.from(caught), this.#alarm, performance.now());
    }
  }

  #reportAlarm(): void {
    const { alarm } = this;
    if (this.#reported === alarm?.reason) return;
    this.#reported = alarm?.reason;
    this.#options.onAlarm(alarm);
  }
}
