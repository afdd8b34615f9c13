import { hash } from 'node:crypto';
import type { Logger } from '../../log.ts';
import { reasonOf } from '../../service/rpc/call-method.ts';
import { SparseLines } from '../../sparse-lines.ts';
import type { ChainFacts } from '../chain-facts.ts';
import type { Publication, PublishingDuty } from '../federation/node/price-publishing.ts';
import { isPriceAction } from '../federation/rounds/price-action.ts';
import {
  judgeAnnounced,
  type LookedRound,
  NOBODY_WAITED_FOR,
  nextDeed,
  type WaitedFor
} from '../federation/rounds/publishing.ts';
import type { PublicationMaker } from './encoder.ts';

interface PublisherOptions {
  readonly maker: PublicationMaker;
  /** Own indexer and coin node. */
  readonly facts: Pick<ChainFacts, 'hasRound' | 'waitingTransaction'>;
  readonly duties: () => readonly PublishingDuty[];
  /** Keeps what was made, before it is sent. @returns what is to be sent; null: nothing may be */
  readonly keep: (round: number, made: Publication) => Promise<Publication | null>;
  /** Tells the set that the transactions of a round were sent. */
  readonly announce: (round: number) => Promise<unknown>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Part of its own fee rate from which another hub's transaction is waited for: estimates differ. */
const LEAST_RATE = 0.8;
/** Pause before a round is looked at again for which there is nothing to do but to watch others. */
const WATCH_EVERY_MS = 10_000;
const KEPT_ROUNDS = 10;
const DOUBTED =
  'a transaction of another hub did not bring its round to the ledger: this hub waits for none of that hub any more';

/**
 * Publishes rounds when it is this hub's turn, and sends again what it has made. It looks at its own indexer and node before each, and
 * trusts no other hub's word.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #lines = new SparseLines();
  #isAtWork = false;
  #memory: WaitedFor = NOBODY_WAITED_FOR;
  /** By round, when this hub looked at others' transactions last, in milliseconds of the process. */
  readonly #watchedAt = new Map<number, number>();

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Does what is due, one round after the other; not twice at a time. */
  async work(): Promise<void> {
    if (this.#isAtWork) return;
    this.#isAtWork = true;
    try {
      for (const duty of this.#options.duties()) await this.#see(duty);
    } finally {
      this.#isAtWork = false;
    }
  }

  async #see(duty: PublishingDuty): Promise<void> {
    const { round } = duty.priced;
    if (this.#isWatchedEnough(duty)) return;
    try {
      const looked = await this.#look(duty);
      const part = { mayBegin: duty.action !== null, maySend: duty.action !== null, isOpen: true };
      const deed = nextDeed(part, duty.made !== null, looked);
      if (deed === 'send') await this.#send(round, duty.made!);
      else if (deed === 'make') await this.#publish(duty.priced.round, duty.action!);
    } catch (caught) {
      const reason = reasonOf(caught);
      const more = this.#lines.take(reason);
      if (more !== null) this.#options.log.warn({ round, more }, `this hub did not publish a round: ${reason}`);
    }
  }

  async #publish(round: number, action: string): Promise<void> {
    const { maker, keep, log } = this.#options;
    // Signatures may be others at the next attempt, and another hub may use the same encoder.
    const id = `prices ${round} ${hash('sha256', `${maker.address} ${action}`)}`;
    const made = await maker.make(action, id);
    const kept = await keep(round, made);
    if (kept) {
      await this.#send(round, kept);
      log.info({ round, txid: kept.txid }, 'this hub has published a round of prices');
    } else {
      await maker.release(id);
      log.warn({ round }, 'the turn of this hub to publish a round ended before its transactions were signed');
    }
  }

  async #send(round: number, made: Publication): Promise<void> {
    const { maker, announce } = this.#options;
    await maker.send(made);
    await announce(round);
  }

  async #look(duty: PublishingDuty): Promise<LookedRound> {
    const { facts, announce } = this.#options;
    const isOnLedger = await facts.hasRound(duty.priced.round);
    if (isOnLedger !== false) return { isOnLedger, isWaiting: false };
    if (duty.made && (await this.#waits(duty.made.txid, duty))) {
      await announce(duty.priced.round); // an earlier start may have sent it
      return { isOnLedger, isWaiting: true };
    }
    const announced = [];
    for (const one of duty.announced) announced.push({ ...one, waits: await this.#waits(one.txid, duty) });
    // A block may have come meanwhile, with one that waited.
    if (announced.length > 0 && (await facts.hasRound(duty.priced.round)) !== false)
      return { isOnLedger: null, isWaiting: false };
    const { memory, isWaiting } = judgeAnnounced(this.#memory, duty.priced.round, announced);
    for (const hub of memory.doubted)
      if (!this.#memory.doubted.has(hub)) this.#options.log.warn({ hub, round: duty.priced.round }, DOUBTED);
    this.#memory = memory;
    return { isOnLedger, isWaiting };
  }

  /** Returns whether a round of others was looked at a short while ago. */
  #isWatchedEnough({ priced: { round }, action, made }: PublishingDuty): boolean {
    if (action !== null || made !== null) return false;
    const now = performance.now();
    if (now < (this.#watchedAt.get(round) ?? Number.NEGATIVE_INFINITY) + WATCH_EVERY_MS) return true;
    for (const old of this.#watchedAt.keys()) if (old < round - KEPT_ROUNDS) this.#watchedAt.delete(old);
    this.#watchedAt.set(round, now);
    return false;
  }

  /** Returns whether a transaction will bring the round to the ledger as soon as one of this hub would. */
  async #waits(txid: string, { priced, qualified }: PublishingDuty): Promise<boolean> {
    const { facts, maker } = this.#options;
    const found = await facts.waitingTransaction(txid);
    const action = found && maker.read(found.hex);
    if (!found || !action || !isPriceAction(action, priced, qualified)) return false;
    return found.feeRate >= LEAST_RATE * (await maker.feeRate());
  }
}
