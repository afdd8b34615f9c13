import { LRUCache } from 'lru-cache';
import { PlatformError } from '../../errors.ts';
import type { Reader } from './reader.ts';

/** The request for a build. */
export interface SlotWish {
  /** The database server that it reads. */
  readonly server: string;
  readonly reader: Reader;
  /** A short build has a place of its own besides the long ones. */
  readonly isShort: boolean;
  /** Returns whether somebody else has begun the same build meanwhile. */
  readonly isBegun: () => boolean;
}

/** A place in which one build may run. */
export interface Slot {
  readonly server: string;
  /** The address of the first caller. */
  readonly address: string;
  readonly isShort: boolean;
  /** The build that runs in it; undefined before it has begun. */
  build?: {
    readonly readers: ReadonlySet<Reader>;
    /** Ends it, and releases its slot at once. */
    readonly giveUp: (reason: string) => void;
  };
}

interface BuildSlotsOptions {
  readonly maxBuilds: number;
  /** Longest time that a wish waits for its turn. Default 3 seconds. */
  readonly patienceMs?: number;
}

interface Waiting extends SlotWish {
  readonly granted: PromiseWithResolvers<Slot | null>;
}

const MAX_BUILDS_PER_SERVER = 2;
const PATIENCE_MS = 3_000;
const MAX_WAITING = 64;
/** Milliseconds for which an address counts as one that abandons its builds. */
const LEFT_MS = 30_000;
/** Builds left at once, from which on an address counts as one that abandons its builds. Clients open some only for their heads. */
const LEAVES_OFTEN = 3;
const MAX_WAITING_PER_ADDRESS = 4;
/** Most addresses that are remembered. */
const MAX_ADDRESSES = 10_000;

/**
 * Decides which callers may build a snapshot when there are fewer places than callers.
 *
 * Short builds have a place beside the long ones. A build that nobody reads gives way to one that another address waits for, and so
 * does one whose readers' addresses have two to an address that has none. A caller without a place waits a moment; the address with the
 * fewest builds gets the next one, and of those the one that had none for longest, so that an address that was turned away and comes
 * again is not overtaken by others. Addresses that leave their builds come last, displace nobody, and share one place.
 */
export class BuildSlots {
  readonly #maxBuilds: number;
  readonly #patienceMs: number;
  readonly #running = new Set<Slot>();
  /** Builds without a slot whose threads have not ended yet. */
  #ending = 0;
  #waiting: Waiting[] = [];
  #isServing = false;
  /** Addresses that left their builds: how often at once. */
  readonly #left = new LRUCache<string, number>({ max: MAX_ADDRESSES, ttl: LEFT_MS });
  /** The number of the last place that an address was given; those without one have had none, or long ago. */
  readonly #lastGrants = new LRUCache<string, number>({ max: MAX_ADDRESSES });
  #grants = 0;

  constructor({ maxBuilds, patienceMs = PATIENCE_MS }: BuildSlotsOptions) {
    this.#maxBuilds = maxBuilds;
    this.#patienceMs = patienceMs;
  }

  /**
   * @returns a place, which is to be released; null when the build has begun meanwhile
   * @throws {PlatformError} SNAPSHOT_BUSY
   */
  async take(wish: SlotWish): Promise<Slot | null> {
    if (this.#isFree(wish) || this.#makeRoom(wish)) return this.#grant(wish);
    const ofAddress = this.#waiting.filter(({ reader }) => reader.address === wish.reader.address);
    if (this.#waiting.length >= MAX_WAITING || ofAddress.length >= MAX_WAITING_PER_ADDRESS) throw this.#busy();
    const waiting: Waiting = { ...wish, granted: Promise.withResolvers() };
    this.#waiting.push(waiting);
    const patience = setTimeout(() => waiting.granted.reject(this.#busy()), this.#patienceMs);
    try {
      return await waiting.granted.promise;
    } finally {
      clearTimeout(patience);
      this.#waiting = this.#waiting.filter((each) => each !== waiting);
    }
  }

  /** Notes that the last reader of a slot's build left as soon as it had come. */
  noteLeft({ address }: Slot): void {
    this.#left.set(address, (this.#left.get(address) ?? 0) + 1);
  }

  /** Frees a slot that its build needs no more. @param ended fulfilled when the build's thread has ended; default: there is none */
  release(slot: Slot, ended: Promise<unknown> = Promise.resolve()): void {
    if (!this.#running.delete(slot)) return;
    this.#ending++;
    const end = () => {
      this.#ending--;
      this.serve();
    };
    ended.then(end, end);
    this.serve();
  }

  /** Starts waiting builds that may now run: when a build has begun, or has lost its last reader. */
  serve(): void {
    if (this.#isServing) return;
    const runs = (address: string) => [...this.#running].filter((slot) => slot.address === address).length;
    const rank = ({ isShort, reader: { address } }: Waiting) =>
      (this.#leaves(address) ? 1e6 : 0) + (isShort ? 0 : 1e3) + runs(address);
    const lastGrant = ({ reader: { address } }: Waiting) => this.#lastGrants.get(address) ?? 0;
    const ranked = this.#waiting.toSorted((a, b) => rank(a) - rank(b) || lastGrant(a) - lastGrant(b));
    for (const waiting of ranked) {
      if (waiting.reader.isGone) waiting.granted.reject(this.#busy());
      else if (waiting.isBegun()) waiting.granted.resolve(null);
      else if (this.#isFree(waiting) || this.#makeRoom(waiting)) waiting.granted.resolve(this.#grant(waiting));
      else continue;
      this.#waiting = this.#waiting.filter((each) => each !== waiting);
    }
  }

  #grant({ server, reader, isShort }: SlotWish): Slot {
    const slot = { server, address: reader.address, isShort };
    this.#running.add(slot);
    this.#lastGrants.set(slot.address, ++this.#grants);
    return slot;
  }

  #busy(): PlatformError {
    return new PlatformError('SNAPSHOT_BUSY', { reason: `${this.#running.size} snapshot builds are running` });
  }

  #leaves(address: string): boolean {
    return (this.#left.get(address) ?? 0) >= LEAVES_OFTEN;
  }

  #isFree(wish: SlotWish): boolean {
    const isBounded = this.#running.size + this.#ending <= 2 * this.#maxBuilds;
    const sharesOne =
      this.#leaves(wish.reader.address) && [...this.#running].some(({ address }) => this.#leaves(address));
    return isBounded && !sharesOne && this.#limits(wish).every(({ isMet }) => isMet);
  }

  /** Returns the limits that hold for a build, with those that run under each. The first short build takes no place of others. */
  #limits({ server, isShort }: Pick<SlotWish, 'server' | 'isShort'>) {
    const mayJoinOthers = !isShort || this.#waiting.every((waiting) => waiting.isShort);
    const limit = (slots: readonly Slot[], most: number) => {
      const shorts = slots.filter((slot) => slot.isShort).length;
      const places = slots.length - Math.min(shorts, 1);
      return { slots, isMet: (isShort && shorts === 0) || (mayJoinOthers && places < most) };
    };
    const all = [...this.#running];
    const onServer = all.filter((slot) => slot.server === server);
    return [limit(all, this.#maxBuilds), limit(onServer, MAX_BUILDS_PER_SERVER)];
  }

  /** Ends builds that are to give way. @returns true when there is a place now */
  #makeRoom(wish: SlotWish): boolean {
    if (this.#leaves(wish.reader.address)) return false; // threads would end and start as fast as it comes and goes
    this.#isServing = true; // the places are this one's
    for (const { slots, isMet } of this.#limits(wish)) {
      if (isMet || slots.some((slot) => !this.#running.has(slot))) continue;
      const [slot, reason] = this.#givesWay(wish, slots);
      if (slot?.build?.readers.size === 0) this.#left.set(slot.address, LEAVES_OFTEN);
      slot?.build?.giveUp(reason);
    }
    this.#isServing = false;
    return this.#isFree(wish);
  }

  #givesWay(wish: SlotWish, slots: readonly Slot[]): [Slot | undefined, string] {
    const newestFirst = slots.toReversed();
    const own = wish.reader.address;
    const unread = newestFirst.find(({ build, address }) => build?.readers.size === 0 && address !== own);
    if (unread || wish.isShort) return [unread, 'nobody reads it'];
    const reads = (slot: Slot) => new Set(slot.build?.readers.values().map((reader) => reader.address));
    const runs = (of: string) => slots.filter((slot) => slot.address === of || reads(slot).has(of)).length;
    const most = runs(own) + 1;
    const ofMany = newestFirst.find(
      (slot) =>
        reads(slot).size > 0 &&
        reads(slot)
          .values()
          .every((of) => runs(of) > most)
    );
    return [ofMany, 'those who read it have others, and another address has none'];
  }
}
