import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../../errors.ts';
import { type Alarm, alarmOf } from '../../wire/state/alarm.ts';
import type { ChainNetwork } from '../chains.ts';
import type { NodeChain, NodeNeeds, NodeTip } from './node-chain.ts';

export interface NodeWatchOptions {
  readonly chain: NodeChain;
  readonly network: ChainNetwork;
  readonly needs: NodeNeeds;
  /** Milliseconds that the node has answered nothing though it was asked. */
  readonly silentMs: () => number;
  /** Called when an alarm begins or ends, or is another. */
  readonly onAlarm: (alarm: Alarm | null) => void;
  /** Pause between two looks; default 2 s. */
  readonly everyMs?: number;
}

const LOOK_EVERY_MS = 2_000;
/** Silence that is told. */
const SILENCE_MS = 5_000;

/** What is known of a coin node, for probes that must not wait for it. Times are those of performance.now(). */
export class NodeWatch {
  readonly #options: NodeWatchOptions;
  #tip: NodeTip | null = null;
  #seenAt: number | null = null;
  #alarm: Alarm | null = null;
  #told: string | undefined;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
  }

  /** Its newest block when it last answered well; null: it never did. */
  get tip(): NodeTip | null {
    return this.#tip;
  }

  /** Milliseconds since it last answered well; null: it never did. */
  get ageMs(): number | null {
    return this.#seenAt === null ? null : Math.max(0, performance.now() - this.#seenAt);
  }

  /** Why it cannot be used; null: it can, or was not looked at yet. */
  get alarm(): Alarm | null {
    const silentMs = this.#options.silentMs();
    if (silentMs < SILENCE_MS) return this.#alarm;
    const error = new PlatformError('NODE_UNREACHABLE', { reason: 'the coin node does not answer' });
    return alarmOf(error, null, performance.now() - silentMs);
  }

  /** Whether it can be used, as far as is known. */
  get isFit(): boolean {
    return this.#tip !== null && this.alarm === null;
  }

  /** Looks at the node until the signal. @throws {PlatformError} NODE_MISMATCH when it is one of another chain */
  async run(signal: AbortSignal): Promise<void> {
    const teller = setInterval(() => this.#tell(), 1_000);
    try {
      while (!signal.aborted) {
        await this.#look(signal);
        this.#tell();
        await sleep(this.#options.everyMs ?? LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    } finally {
      clearInterval(teller);
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

  #tell(): void {
    const { alarm } = this;
    if (this.#told === alarm?.reason) return;
    this.#told = alarm?.reason;
    this.#options.onAlarm(alarm);
  }
}
