import {
  begunBy,
  judgeAnnounced,
  type LoggedRound,
  NOBODY_WAITED_FOR,
  nextDeed,
  partOf,
  type WaitedFor
} from '../../src/hub/federation/rounds/publishing.ts';
import { SeededRandom } from './random.ts';
import { Violation } from './violation.ts';

/** Behaviours of a hub that lies about what it publishes. */
export const PUBLISHING_BEHAVIOURS = [
  'is silent in its turn',
  'announces what nobody sent',
  'sends what the ledger refuses',
  'sends and takes back',
  'pays too little',
  'publishes out of turn',
  'announces what others sent',
  'tells each hub something else'
] as const;
type PublishingBehaviour = (typeof PUBLISHING_BEHAVIOURS)[number];

interface PublishingOptions {
  readonly seed: number;
  readonly hubs: number;
  readonly rounds: number;
  /** Behaviour of as many hubs as may lie; absent: all are honest. */
  readonly behaviour?: PublishingBehaviour;
  /** Mean time between two blocks, in milliseconds. */
  readonly blockMs?: number;
}

/** Results of a run. */
interface PublishingResult {
  readonly published: number;
  /** Rounds that were not in the mempool before the next one was decided: liars held them up. */
  readonly late: number;
  readonly lies: number;
}

type Decided = Pick<LoggedRound, 'round' | 'decidedAt' | 'publishers'>;

/** A transaction in the mempool of the nodes. */
interface Sent {
  readonly txid: string;
  readonly hub: string;
  readonly round: number;
  /** Whether its source may publish. */
  readonly isQualified: boolean;
  readonly feeRate: number;
  readonly sentAt: number;
  /** By hub, when its node has it. */
  readonly seenAt: ReadonlyMap<string, number>;
}

/** A hub with its clock, its memory, and what it has stored. */
interface Hub {
  readonly offsetMs: number;
  memory: WaitedFor;
  readonly made: Map<number, string>;
  readonly making: Set<number>;
  /** By round, what others announced first. */
  readonly announced: Map<number, Map<string, string>>;
}

const [INTERVAL_MS, DECIDED_MS, TICK_MS, BLOCK_MS] = [600_000, 182_000, 5_000, 600_000];
/** Largest difference of a clock, longest way of a transaction to a node, and longest time that a signer takes. */
const [MOST_OFF_MS, LONGEST_WAY_MS, LONGEST_SIGNING_MS] = [5_000, 20_000, 30_000];
const ANNOUNCE_MS = 15_000;
/** Rounds whose turns may not be over. */
const NEWEST = 4;
const LOST = 0.1;
/** Least rate that is waited for, where a hub's own is 1. */
const LEAST_RATE = 0.8;

/** Plays the publishing of rounds over a chain, among hubs of which some lie, and checks how long these can hold up a round. */
export class PublishingSimulation {
  readonly #random: SeededRandom;
  readonly #options: PublishingOptions;
  readonly #keys: readonly string[];
  readonly #rules: { readonly intervalMs: number; readonly faulty: number };
  readonly #liars: ReadonlySet<string>;
  readonly #hubs = new Map<string, Hub>();
  readonly #decided: Decided[] = [];
  readonly #mempool = new Map<string, Sent>();
  readonly #ledger = new Set<number>();
  /** By round, when a transaction was sent that came to the ledger, or is an honest hub's; and how many of these there are. */
  readonly #goodAt = new Map<number, number>();
  readonly #byHonest = new Map<number, number>();
  readonly #queue: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  #now = 0;
  #order = 0;
  #transactions = 0;
  #lies = 0;

  constructor(options: PublishingOptions) {
    const { seed, hubs, behaviour } = options;
    this.#options = options;
    this.#random = new SeededRandom(seed);
    this.#keys = Array.from({ length: hubs }, (_, at) => String.fromCharCode(97 + at));
    const faulty = Math.floor((hubs - 1) / 3);
    this.#rules = { intervalMs: INTERVAL_MS, faulty };
    // Neighbours in the order of turns hold up most.
    const first = this.#random.between(0, hubs - 1);
    const liars = Array.from({ length: behaviour ? faulty : 0 }, (_, at) => this.#keys[(first + at) % hubs]!);
    this.#liars = new Set(liars);
    for (const key of this.#keys)
      this.#hubs.set(key, {
        offsetMs: this.#random.between(-MOST_OFF_MS, MOST_OFF_MS),
        memory: NOBODY_WAITED_FOR,
        made: new Map(),
        making: new Set(),
        announced: new Map()
      });
  }

  run(): PublishingResult {
    const { rounds } = this.#options;
    for (const key of this.#keys) this.#after(this.#random.between(0, TICK_MS), () => this.#tick(key));
    for (let round = 0; round < rounds; round++)
      this.#at(round * INTERVAL_MS + DECIDED_MS + this.#random.between(0, 20_000), () => this.#decide(round));
    this.#after(this.#untilBlock(), () => this.#mine());
    const end = (rounds + 4) * INTERVAL_MS;
    for (let due = this.#queue.shift(); due && due.at < end; due = this.#queue.shift()) {
      this.#now = due.at;
      due.run();
    }
    return this.#judge();
  }

  /** A liar may be ready or not, as it likes: that must change no other hub's turn in a round that is decided. */
  #decide(round: number): void {
    const publishers = this.#keys.filter((key) => !this.#liars.has(key) || this.#random.chance(0.9));
    this.#decided.push({ round, decidedAt: this.#now, publishers });
  }

  #tick(key: string): void {
    this.#after(TICK_MS, () => this.#tick(key));
    for (const decided of this.#decided.slice(-NEWEST)) {
      if (this.#liars.has(key)) this.#lie(key, decided);
      else this.#work(key, decided);
    }
  }

  /** Does what an honest hub does. */
  #work(key: string, decided: Decided): void {
    const { round } = decided;
    const hub = this.#hubs.get(key)!;
    const now = this.#now + hub.offsetMs;
    const part = partOf(this.#rules, decided, key, now);
    if (!part.isOpen) return;
    const begun = begunBy(this.#rules, decided, now);
    const announced = [...(hub.announced.get(round) ?? [])]
      .map(([from, txid]) => ({ hub: from, txid, waits: this.#waits(key, txid, round) }))
      .filter((one) => begun.includes(one.hub));
    const isOnLedger = this.#ledger.has(round);
    const own = hub.made.get(round);
    let isWaiting = own !== undefined && this.#waits(key, own, round);
    if (!isOnLedger && !isWaiting) {
      const judged = judgeAnnounced(hub.memory, round, announced);
      hub.memory = judged.memory;
      isWaiting = judged.isWaiting;
    }
    if (hub.making.has(round)) return;
    const deed = nextDeed(part, own !== undefined, { isOnLedger, isWaiting });
    if (deed === 'make') {
      hub.making.add(round);
      this.#after(this.#random.between(500, LONGEST_SIGNING_MS), () => {
        hub.making.delete(round);
        if (partOf(this.#rules, decided, key, this.#now + hub.offsetMs).maySend && !hub.made.has(round)) {
          const txid = this.#send(key, round, true, 1);
          hub.made.set(round, txid);
          this.#byHonest.set(round, (this.#byHonest.get(round) ?? 0) + 1);
          this.#noteGood(round, this.#now);
          this.#announce(key, round, txid);
        }
      });
    }
  }

  #waits(key: string, txid: string, round: number): boolean {
    const sent = this.#mempool.get(txid);
    return sent?.round === round && sent.feeRate >= LEAST_RATE && sent.seenAt.get(key)! <= this.#now;
  }

  #send(hub: string, round: number, isQualified: boolean, feeRate: number): string {
    const txid = `${hub} ${this.#transactions++}`;
    const seenAt = new Map(
      this.#keys.map((key) => [key, this.#now + (key === hub ? 0 : this.#random.between(100, LONGEST_WAY_MS))])
    );
    this.#mempool.set(txid, { txid, hub, round, isQualified, feeRate, sentAt: this.#now, seenAt });
    return txid;
  }

  /** Tells all hubs, some of them later. */
  #announce(from: string, round: number, txid: string, to: readonly string[] = this.#keys): void {
    for (const key of to) {
      if (key === from) continue;
      if (this.#random.chance(LOST)) {
        this.#after(ANNOUNCE_MS, () => this.#announce(from, round, txid, [key]));
        continue;
      }
      this.#after(this.#random.between(5, 1_500), () => {
        const { announced } = this.#hubs.get(key)!;
        const ofRound = announced.get(round) ?? new Map<string, string>();
        if (!ofRound.has(from)) ofRound.set(from, txid);
        announced.set(round, ofRound);
      });
    }
  }

  /** Does, once for each round, what no honest hub does. */
  #lie(key: string, decided: Decided): void {
    const { round } = decided;
    const hub = this.#hubs.get(key)!;
    if (hub.making.has(round)) return;
    const { behaviour } = this.#options;
    const isTurn = partOf(this.#rules, decided, key, this.#now).mayBegin;
    const isEarly = behaviour === 'publishes out of turn' || this.#random.chance(0.05);
    if (!isTurn && !isEarly) return;
    hub.making.add(round);
    this.#lies += 1;
    switch (behaviour) {
      case 'announces what nobody sent':
        this.#announce(key, round, 'nothing');
        return;
      case 'sends what the ledger refuses':
        this.#announce(key, round, this.#send(key, round, false, 1));
        return;
      case 'tells each hub something else':
        for (const to of this.#keys) this.#announce(key, round, this.#send(key, round, false, 1), [to]);
        return;
      case 'sends and takes back': {
        const txid = this.#send(key, round, true, 1);
        this.#announce(key, round, txid);
        this.#after(this.#random.between(1_000, 2 * INTERVAL_MS), () => this.#mempool.delete(txid));
        return;
      }
      case 'pays too little':
        this.#announce(key, round, this.#send(key, round, true, 0.3));
        return;
      case 'publishes out of turn':
        this.#announce(key, round, this.#send(key, round, true, 1));
        return;
      case 'announces what others sent': {
        const other = [...this.#mempool.values()].find((sent) => sent.hub !== key);
        if (other) this.#announce(key, round, other.txid);
        return;
      }
      default: // silent
    }
  }

  /** Mines all that pays enough, and some that does not. */
  #mine(): void {
    this.#after(this.#untilBlock(), () => this.#mine());
    for (const sent of [...this.#mempool.values()]) {
      if (sent.feeRate < LEAST_RATE && this.#random.chance(0.9)) continue;
      this.#mempool.delete(sent.txid);
      if (!sent.isQualified) continue;
      this.#ledger.add(sent.round);
      this.#noteGood(sent.round, sent.sentAt);
    }
  }

  #noteGood(round: number, sentAt: number): void {
    this.#goodAt.set(round, Math.min(sentAt, this.#goodAt.get(round) ?? Number.POSITIVE_INFINITY));
  }

  #untilBlock(): number {
    const { blockMs = BLOCK_MS } = this.#options;
    return Math.ceil(-Math.log(1 - this.#random.next()) * blockMs);
  }

  #judge(): PublishingResult {
    const { hubs } = this.#options;
    let late = 0;
    for (const { round, decidedAt } of this.#decided) {
      const sent = this.#byHonest.get(round) ?? 0;
      if (sent > 1) throw new Violation(`honest hubs have paid ${sent} times for round ${round}`);
      if ((this.#goodAt.get(round) ?? Number.POSITIVE_INFINITY) > decidedAt + INTERVAL_MS) late += 1;
    }
    // A liar holds up one round of each honest hub, and none after that.
    const most = this.#liars.size * (hubs - this.#liars.size);
    if (late > most) throw new Violation(`${late} rounds were held up, by ${this.#liars.size} hubs that lie`);
    return { published: this.#decided.filter(({ round }) => this.#ledger.has(round)).length, late, lies: this.#lies };
  }

  #after(delayMs: number, run: () => void): void {
    this.#at(this.#now + delayMs, run);
  }

  #at(at: number, run: () => void): void {
    const due = { at, order: this.#order++, run };
    let place = this.#queue.length;
    while (place > 0 && this.#queue[place - 1]!.at > at) place -= 1;
    this.#queue.splice(place, 0, due);
  }
}
