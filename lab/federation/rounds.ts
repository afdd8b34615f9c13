import { createHash } from 'node:crypto';
import { canonicalJson } from '../../src/consensus/canonical-json.ts';
import { byzantineQuorum } from '../../src/consensus/pbft-quorum.ts';
import {
  type DecidedRound,
  decideRound,
  NO_ROUNDS,
  type RoundsBefore
} from '../../src/hub/federation/rounds/decide.ts';
import {
  type GatheringEffect,
  type GatheringEvent,
  type GatheringState,
  NOTHING_GATHERED,
  stepGathering
} from '../../src/hub/federation/rounds/gathering.ts';
import {
  type GatheredRound,
  heldByHonest,
  type RoundRules,
  type Seen,
  type Submission,
  startOf
} from '../../src/hub/federation/rounds/statements.ts';
import { formatPrice, readPrice } from '../../src/hub/oracle/price.ts';
import { SeededRandom } from './random.ts';
import { Violation } from './violation.ts';

/** Behaviours of a hub that lies about prices. */
export const ROUND_BEHAVIOURS = [
  'submits wild prices',
  'submits to each another price',
  'submits late',
  'submits to one alone',
  'is silent',
  'lists nothing',
  'lists inventions',
  'signs lists of others',
  'leaves a submission out',
  'slips a submission in',
  'proposes with too few lists',
  'proposes too early',
  'repeats old rounds'
] as const;
type RoundBehaviour = (typeof ROUND_BEHAVIOURS)[number];

interface RoundsOptions {
  readonly seed: number;
  readonly hubs: number;
  readonly rounds: number;
  /** Behaviour of one hub; absent: all are honest. */
  readonly behaviour?: RoundBehaviour;
  /** Part of the messages that are lost. */
  readonly loss?: number;
}

/** Results of a run. */
interface RoundsResult {
  readonly decided: readonly DecidedRound[];
  /** Rounds that the log refused, and why. */
  readonly refused: readonly string[];
  readonly liar: string | null;
  readonly lies: number;
}

type Sent =
  | { readonly type: 'submission.received'; readonly submission: Submission }
  | { readonly type: 'list.received'; readonly seen: Seen }
  | { readonly type: 'submission.asked'; readonly from: string; readonly round: number; readonly hash: string };

const [INTERVAL_MS, WINDOW_MS, TICK_MS] = [600_000, 180_000, 1_000];
const [PAIR, FIRST] = ['BTC/USD', 60_000];
const LONGEST_WAY_MS = 1_500;

/** Plays rounds of prices among hubs of which one lies, over a log that takes one operation after the other, and checks the promises. */
export class RoundsSimulation {
  readonly #random: SeededRandom;
  readonly #options: RoundsOptions;
  readonly #rules: RoundRules;
  readonly #liar: string | null;
  readonly #states = new Map<string, GatheringState>();
  readonly #signed = new Set<string>();
  /** By hub, what it signed of a round: it signs no other. */
  readonly #own = new Map<string, Submission | Seen>();
  readonly #queue: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  readonly #decided: DecidedRound[] = [];
  readonly #refused: string[] = [];
  /** By round and hub, when its submission was with all honest hubs. */
  readonly #arrived = new Map<string, number>();
  readonly #old: GatheredRound[] = [];
  #before: RoundsBefore = NO_ROUNDS;
  #now = 0;
  #order = 0;
  #lies = 0;

  constructor(options: RoundsOptions) {
    const keys = Array.from({ length: options.hubs }, (_, at) => String.fromCharCode(97 + at));
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#rules = {
      keys,
      quorum: byzantineQuorum(keys.length),
      faulty: Math.floor((keys.length - 1) / 3),
      epochStartMs: 1_000_000,
      intervalMs: INTERVAL_MS,
      windowMs: WINDOW_MS,
      minSubmissions: 2 * Math.floor((keys.length - 1) / 3) + 1,
      hashOf,
      isSigned: (statement) => this.#signed.has(canonicalJson(statement))
    };
    this.#liar = options.behaviour ? this.#random.pick(keys) : null;
    for (const key of keys) this.#states.set(key, NOTHING_GATHERED);
  }

  run(): RoundsResult {
    const { keys } = this.#rules;
    this.#now = this.#rules.epochStartMs - 5_000;
    for (const key of keys) {
      this.#take(key, { type: 'capability.changed', isOn: true, isReady: true });
      this.#after(this.#random.between(0, TICK_MS), () => this.#tick(key));
    }
    for (let round = 0; round < this.#options.rounds; round++)
      for (const key of keys)
        this.#at(startOf(this.#rules, round) + this.#random.between(10, 5_000), () => this.#find(key, round));
    const end = startOf(this.#rules, this.#options.rounds) - TICK_MS;
    for (let due = this.#queue.shift(); due && due.at < end; due = this.#queue.shift()) {
      this.#now = due.at;
      due.run();
    }
    this.#checkEnd();
    return { decided: this.#decided, refused: this.#refused, liar: this.#liar, lies: this.#lies };
  }

  #tick(key: string): void {
    this.#take(key, { type: 'clock.ticked', now: this.#now });
    this.#after(TICK_MS, () => this.#tick(key));
    if (key === this.#liar) this.#disturb(key);
  }

  #find(key: string, round: number): void {
    const isWild = key === this.#liar && this.#options.behaviour === 'submits wild prices';
    if (isWild) this.#lies += 1;
    const price = isWild ? this.#random.pick([1, 9_999_999]) : FIRST + 10 * round + this.#random.between(-200, 200);
    const prices = [[PAIR, formatPrice(readPrice(price)!)]] as const;
    const height = isWild ? 5 : 800_000 + round + this.#random.between(0, 1);
    this.#take(key, { type: 'prices.found', at: this.#now, height, prices });
  }

  #take(key: string, event: GatheringEvent): void {
    const { state, effects } = stepGathering(this.#states.get(key)!, event, { self: key, rules: this.#rules });
    this.#states.set(key, state);
    for (const effect of effects) if (key !== this.#liar || !this.#lie(key, effect)) this.#carryOut(key, effect);
  }

  #carryOut(key: string, effect: GatheringEffect): void {
    switch (effect.type) {
      case 'submit':
        this.#tellAll(key, { type: 'submission.received', submission: this.#submit(key, effect.submission) });
        return;
      case 'list':
        this.#tellAll(key, { type: 'list.received', seen: this.#list(key, effect.list) });
        return;
      case 'ask': {
        const { round, hash } = effect;
        this.#send(key, effect.to, { type: 'submission.asked', from: key, round, hash });
        return;
      }
      case 'send':
        this.#send(key, effect.to, { type: 'submission.received', submission: effect.submission });
        return;
      case 'tellAgain':
        for (const submission of effect.submissions) this.#tellAll(key, { type: 'submission.received', submission });
        for (const seen of effect.lists) this.#tellAll(key, { type: 'list.received', seen });
        return;
      case 'propose':
        this.#propose(effect.gathered);
    }
  }

  #submit(key: string, unsigned: Omit<Submission, 'submitter' | 'sig'>): Submission {
    return this.#signOnce(`${key} submits ${unsigned.round}`, { ...unsigned, submitter: key, sig: key });
  }

  #list(key: string, unsigned: Omit<Seen, 'hub' | 'sig'>): Seen {
    return this.#signOnce(`${key} lists ${unsigned.round}`, { ...unsigned, hub: key, sig: key });
  }

  #signOnce<S extends Submission | Seen>(place: string, statement: S): S {
    const known = this.#own.get(place) as S | undefined;
    if (known) return known;
    this.#own.set(place, statement);
    return this.#sign(statement);
  }

  #sign<S extends Submission | Seen>(statement: S): S {
    this.#signed.add(canonicalJson(statement));
    return statement;
  }

  #tellAll(from: string, sent: Sent): void {
    for (const to of this.#rules.keys) this.#send(from, to, sent);
  }

  #send(from: string, to: string, sent: Sent): void {
    const { loss = 0 } = this.#options;
    if (from !== to && this.#random.chance(loss)) return;
    this.#after(from === to ? 0 : this.#random.between(5, LONGEST_WAY_MS), () => {
      this.#take(to, sent);
      if (sent.type === 'submission.received') this.#noteArrival(sent.submission);
    });
  }

  #noteArrival({ round, submitter }: Submission): void {
    const hubs = this.#rules.keys.filter((key) => key !== this.#liar);
    const place = `${round} ${submitter}`;
    if (this.#arrived.has(place)) return;
    const isThere = hubs.every((key) => this.#states.get(key)!.open.get(round)?.first.has(submitter));
    if (isThere) this.#arrived.set(place, this.#now);
  }

  /** Has a round decided by the log, a moment later, at every hub. */
  #propose(gathered: GatheredRound): void {
    this.#after(this.#random.between(20, 500), () => {
      const found = decideRound(this.#rules, this.#before, this.#rules.keys, gathered, this.#now);
      if (typeof found === 'string') {
        this.#refused.push(found);
        return;
      }
      this.#before = found.after;
      this.#decided.push(found.decided);
      this.#old.push(gathered);
      this.#check(found.decided);
      for (const key of this.#rules.keys)
        this.#after(this.#random.between(0, 500), () =>
          this.#take(key, { type: 'round.decided', round: gathered.round })
        );
    });
  }

  #check({ round, counted, pairs, split, far, height }: DecidedRound): void {
    const end = startOf(this.#rules, round) + WINDOW_MS;
    const honest = this.#rules.keys.filter((key) => key !== this.#liar);
    for (const key of honest) {
      if ((this.#arrived.get(`${round} ${key}`) ?? end) < end && !counted.includes(key))
        throw new Violation(`round ${round} leaves out ${key}, whose prices all honest hubs had`);
      if (split.includes(key) || far.includes(key)) throw new Violation(`round ${round} accuses ${key}`);
    }
    const { price } = pairs.find(({ pair }) => pair === PAIR)!;
    const own = honest.flatMap((key) => (this.#own.get(`${key} submits ${round}`) as Submission | undefined) ?? []);
    const prices = own.map((one) => readPrice(one.prices[0]![1])!).toSorted((a, b) => (a < b ? -1 : Number(a > b)));
    const found = price === null ? null : readPrice(price)!;
    if (found !== null && (found < prices[0]! || found > prices.at(-1)!))
      throw new Violation(`round ${round} has a price beyond those of all honest hubs: ${price}`);
    const heights = own.map((one) => one.height);
    if (counted.length > 2 * this.#rules.faulty && (height < Math.min(...heights) || height > Math.max(...heights)))
      throw new Violation(`round ${round} has a height that no honest hub told: ${height}`);
  }

  #checkEnd(): void {
    const rounds = this.#decided.map(({ round }) => round);
    if (new Set(rounds).size < rounds.length) throw new Violation('a round is decided twice');
    if ((this.#options.loss ?? 0) > 0) return;
    if (rounds.length < this.#options.rounds) throw new Violation(`${rounds.length} rounds are decided`);
    const priced = this.#decided.filter(({ pairs }) => pairs.some(({ price }) => price !== null));
    if (priced.length < rounds.length) throw new Violation('a round has no price');
  }

  /** Lies where the behaviour has a lie for an effect. @returns whether an honest hub's part is left undone */
  #lie(key: string, effect: GatheringEffect): boolean {
    const others = this.#rules.keys.filter((other) => other !== key);
    const lied = () => {
      this.#lies += 1;
      return true;
    };
    switch (this.#options.behaviour) {
      case 'is silent':
        return lied();
      case 'submits to each another price':
        if (effect.type !== 'submit') return false;
        for (const [at, to] of others.entries()) {
          const prices = [[PAIR, formatPrice(readPrice(FIRST + at + 1)!)]] as const;
          const submission = this.#sign({ ...effect.submission, prices, submitter: key, sig: `${key}${at}` });
          for (let copies = 0; copies < 2; copies++) this.#send(key, to, { type: 'submission.received', submission });
        }
        return lied();
      case 'submits late':
      case 'submits to one alone':
        if (effect.type !== 'submit') return false;
        if (this.#options.behaviour === 'submits late')
          this.#after(WINDOW_MS + this.#random.between(-5_000, 5_000), () => this.#carryOut(key, effect));
        else {
          const submission = this.#submit(key, effect.submission);
          this.#send(key, this.#random.pick(others), { type: 'submission.received', submission });
        }
        return lied();
      case 'lists nothing':
        if (effect.type !== 'list') return false;
        this.#carryOut(key, { ...effect, list: { ...effect.list, held: [] } });
        return lied();
      case 'lists inventions':
        if (effect.type !== 'list') return false;
        this.#carryOut(key, { ...effect, list: { ...effect.list, held: ['0'.repeat(40), 'f'.repeat(40)] } });
        return lied();
      case 'signs lists of others':
        if (effect.type !== 'list') return false;
        for (const hub of others)
          this.#tellAll(key, { type: 'list.received', seen: { ...effect.list, held: [], hub, sig: 'forged' } });
        return lied() && false;
      default:
        return false;
    }
  }

  /** Proposes, at times, what no honest hub would. */
  #disturb(key: string): void {
    const [gathering] = [...this.#states.get(key)!.open.values()];
    if (!gathering || !this.#random.chance(0.05)) return;
    const { round, submissions, seen } = gathering;
    const lists = [...seen.values()];
    const needed = heldByHonest(this.#rules, lists);
    const held = [...submissions].filter(([hash]) => needed.has(hash)).map(([, submission]) => submission);
    const isOver = this.#now >= startOf(this.#rules, round) + WINDOW_MS && lists.length >= this.#rules.quorum;
    const tell = (gathered: GatheredRound) => {
      this.#lies += 1;
      this.#propose(gathered);
    };
    switch (this.#options.behaviour) {
      case 'leaves a submission out': {
        const out = this.#random.pick(held);
        if (isOver && out) tell({ round, seen: lists, submissions: held.filter((one) => one !== out) });
        return;
      }
      case 'slips a submission in': {
        if (!isOver) return;
        const prices = [[PAIR, '1.00000000']] as const;
        const own = this.#sign({ round, height: 1, prices, submitter: key, sig: `${key} slipped` });
        const forged = { ...own, submitter: this.#rules.keys.find((other) => other !== key)!, sig: 'forged' };
        const mine = held.filter(({ submitter }) => submitter !== key);
        tell({ round, seen: lists, submissions: [...mine, own] });
        tell({ round, seen: lists, submissions: [...held, own] });
        tell({ round, seen: lists, submissions: [...held, forged] });
        tell({ round, seen: lists, submissions: [...held, held[0]!] });
        return;
      }
      case 'proposes with too few lists': {
        if (!isOver) return;
        const few = lists.slice(0, this.#rules.quorum - 1);
        const own = lists.find(({ hub }) => hub === key) ?? lists[0]!;
        const empty = this.#rules.keys.map((hub) => ({ round, hub, held: [], sig: 'forged' }));
        tell({ round, seen: few, submissions: held });
        tell({ round, seen: lists.map(() => own), submissions: [] });
        tell({ round, seen: empty, submissions: [] });
        return;
      }
      case 'proposes too early': {
        const empty = this.#sign({ round, hub: key, held: [], sig: key });
        if (!isOver) tell({ round, seen: [empty, ...lists], submissions: held });
        return;
      }
      case 'repeats old rounds': {
        const old = this.#random.pick(this.#old);
        if (old) tell(old);
        if (old) tell({ ...old, round: round + 1 });
        return;
      }
      default:
    }
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

function hashOf(submission: Submission): string {
  return createHash('sha256').update(canonicalJson(submission)).digest('hex').slice(0, 40);
}
