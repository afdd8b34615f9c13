import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { lookAt, NOBODY_WAITS, nextBlockAt, type Waiting, type WaitTimes } from './schedule.ts';
import type { MinerWallet } from './wallet.ts';

/** Default times of a miner. */
export const DEFAULT_TIMES = { firstMs: 30_000, addedMs: 5_000 } as const;

/** Parts and settings of a miner. */
interface MinerOptions {
  readonly wallet: Pick<MinerWallet, 'prepare' | 'waiting' | 'mine'>;
  /** Checks that the node is one of the miner's network. @throws {PlatformError} NODE_MISMATCH, which ends the miner */
  readonly verify: (signal: AbortSignal) => Promise<unknown>;
  /** Returns the milliseconds for which the node has left a request unanswered. Default: 0. */
  readonly silentMs?: () => number;
  /** @see WaitTimes.idleMs */
  readonly idleMs: number;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** State of a miner. */
interface MinerState {
  readonly isReady: boolean;
  readonly mempoolSize: number;
  readonly blocksMined: number;
  /** Unix milliseconds; null before the first block. */
  readonly lastMineAt: number | null;
  readonly consecutiveErrors: number;
  /** Reason of the node's last refusal; null when it does not refuse or does not answer. */
  readonly refusal: string | null;
  readonly isPaused: boolean;
  readonly times: WaitTimes;
}

const POLL_MS = 100;
/** Pause between two looks of a miner that may not mine: it only tells how many payments wait. */
const PAUSED_POLL_MS = 1_000;
const SILENCE_MS = 5_000;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 30_000;
const MOST_DOUBLINGS = 8;

/** Mines a block when payments have waited for long enough. */
export class Miner {
  readonly #options: MinerOptions;
  #waiting: Waiting = NOBODY_WAITS;
  #lastBlockAt = performance.now();
  /**
   * Whether the node is one of the network and its wallet is open. Checked again after each failure: the node may have
   * restarted.
   */
  #isPrepared = false;
  /** Whether the node that was last heard is one of the network. */
  #isVerified = false;
  #isSilenceTold = false;
  /** Ends a rest. */
  #wake: () => void = () => undefined;
  #state: MinerState;

  constructor(options: MinerOptions) {
    this.#options = options;
    this.#state = {
      isReady: false,
      mempoolSize: 0,
      blocksMined: 0,
      lastMineAt: null,
      consecutiveErrors: 0,
      refusal: null,
      isPaused: false,
      times: { ...DEFAULT_TIMES, idleMs: options.idleMs }
    };
  }

  get state(): MinerState {
    return this.#state;
  }

  /** Whether the node has left a request unanswered for more than 5 s. */
  get isNodeSilent(): boolean {
    return (this.#options.silentMs?.() ?? 0) > SILENCE_MS;
  }

  /**
   * Refuses what a caller asks of a node that was not found to be of the miner's network: before the first check, and again after
   * a failure to reach it. Another node may answer by then.
   *
   * @throws {PlatformError} NODE_UNREACHABLE
   */
  refuseUnverified(): void {
    if (!this.#isVerified)
      throw new PlatformError('NODE_UNREACHABLE', { reason: 'the network of the coin node has not been checked yet' });
  }

  /** Pauses or continues mining, and changes its times. */
  set(change: { readonly isPaused?: boolean; readonly times?: Partial<WaitTimes> }): void {
    const { isPaused = this.#state.isPaused, times } = change;
    this.#state = { ...this.#state, isPaused, times: { ...this.#state.times, ...times } };
    this.#wake();
  }

  /** Counts blocks that a caller mined. */
  noteMined(count: number): void {
    if (count === 0) return;
    this.#lastBlockAt = performance.now();
    this.#waiting = NOBODY_WAITS;
    const blocksMined = this.#state.blocksMined + count;
    this.#state = { ...this.#state, blocksMined, lastMineAt: Date.now() };
  }

  /**
   * Mines until the signal aborts. After a failure it tries again after 200 ms, later after up to 30 s. @throws
   * {PlatformError} NODE_MISMATCH
   */
  async run(signal: AbortSignal): Promise<void> {
    const teller = setInterval(() => this.#tellSilence(), 1_000);
    try {
      await this.#work(signal);
    } finally {
      clearInterval(teller);
    }
  }

  #tellSilence(): void {
    const { isNodeSilent } = this;
    if (isNodeSilent === this.#isSilenceTold) return;
    this.#isSilenceTold = isNodeSilent;
    const { log } = this.#options;
    if (!isNodeSilent) log.info('the coin node answers again');
    else log.warn({ hint: new PlatformError('NODE_UNREACHABLE', {}).hint }, 'the coin node does not answer');
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#step(signal);
        this.#state = { ...this.#state, consecutiveErrors: 0, refusal: null };
      } catch (caught) {
        if (hasCode(caught, 'NODE_MISMATCH')) {
          this.#isVerified = false;
          throw caught;
        }
        if (signal.aborted) return;
        this.#isPrepared = false;
        if (!hasCode(caught, 'NODE_REFUSED')) this.#isVerified = false;
        const refusal = hasCode(caught, 'NODE_REFUSED') ? String(caught.detail['reason']) : null;
        this.#state = { ...this.#state, consecutiveErrors: this.#state.consecutiveErrors + 1, refusal };
        this.#options.log.warn(
          { err: caught },
          'no block was mined: the coin node refused or did not answer; it is tried again'
        );
      }
      await this.#rest(signal);
    }
  }

  /** Rests until the next look is due, or a caller changes when it mines. */
  async #rest(signal: AbortSignal): Promise<void> {
    const { consecutiveErrors: errors, isPaused } = this.#state;
    const woken = Promise.withResolvers<void>();
    if (errors === 0) this.#wake = woken.resolve;
    const restMs = errors === 0 && isPaused ? PAUSED_POLL_MS : backoffOf(errors);
    await Promise.race([woken.promise, sleep(restMs, undefined, { signal }).catch(() => undefined)]);
    this.#wake = () => undefined;
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { wallet, verify, log } = this.#options;
    if (!this.#isPrepared) {
      await verify(signal);
      this.#isVerified = true;
      await wallet.prepare(signal);
      this.#isPrepared = true;
    }
    if (!this.#state.isReady) {
      this.#state = { ...this.#state, isReady: true };
      this.#lastBlockAt = performance.now();
      log.info('the wallet has coins');
    }
    const size = await wallet.waiting(signal);
    const now = performance.now();
    this.#waiting = lookAt(this.#waiting, size, now);
    this.#state = { ...this.#state, mempoolSize: size };
    const at = nextBlockAt(this.#waiting, this.#state.times, this.#lastBlockAt);
    if (at === null || at > now || this.#state.isPaused) return;
    this.noteMined((await wallet.mine(1, signal)).length);
  }
}

function backoffOf(errors: number): number {
  if (errors === 0) return POLL_MS;
  return Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(MOST_DOUBLINGS, errors - 1));
}
