import type { SigningKey } from '../../../consensus/auth-signature.ts';
import type { Batch } from '../consensus/messages.ts';
import type { Envelope } from '../gossip/envelope.ts';
import { isStatement, signSeen, signStatement, signSubmission } from '../gossip/signatures.ts';
import type { KnownCapability, RoundJournal } from '../journal/round-journal.ts';
import type { DecidedRound } from '../rounds/decide.ts';
import {
  type GatheringEffect,
  type GatheringEvent,
  type GatheringState,
  NOTHING_GATHERED,
  stepGathering
} from '../rounds/gathering.ts';
import { readRound, roundBodyOf } from '../rounds/operations.ts';
import { isSeen, isSubmission } from '../rounds/reading.ts';
import { statementOf } from '../rounds/statement-text.ts';
import type { RoundRules, Submission } from '../rounds/statements.ts';

/** Ways of a hub that takes part in rounds of prices. */
interface PriceRoundsOptions {
  readonly key: SigningKey;
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  readonly rules: RoundRules;
  readonly journal: RoundJournal;
  readonly gossip: {
    publish(type: string, data: Readonly<Record<string, unknown>>): void;
    sendTo(to: string, type: string, data: Readonly<Record<string, unknown>>): void;
  };
  /** Adds to what is written to the database, one after the other. */
  readonly write: (work: () => Promise<void>) => void;
  /** Has an operation decided. */
  readonly submit: (body: string) => Promise<unknown>;
  /** Called when a round was decided, with its time in epoch milliseconds. */
  readonly onDecided: (time: number) => void;
  /** Called when a round was decided, or other hubs have signed its prices. */
  readonly onSigned: () => Promise<void>;
}

/** The last round of the set, and who signed its prices. */
interface LastRound {
  readonly round: number;
  readonly statement: Uint8Array;
  readonly signers: Set<string>;
}

/** Time after which a hub tells its signature again while others' are missing. */
const TELL_MS = 15_000;

/** Hubs whose prices count in the last round, and those that told none. */
export interface LastPrices {
  readonly counted: number;
  readonly missed: number;
  /** Largest part by which a price of this hub differs from the decided one; null: it told none. */
  readonly deviation: number | null;
}

/**
 * A hub's part in the rounds of prices of its set. What it signs is stored before it is sent, one thing of a kind for each round: a hub
 * that was killed never signs two submissions, lists or prices.
 */
export class PriceRounds {
  readonly #options: PriceRoundsOptions;
  #state: GatheringState = NOTHING_GATHERED;
  #last: LastRound | null = null;
  /** By hub, its last signature of a round that is not decided here yet: it has applied the batch before this one. */
  readonly #early = new Map<string, { readonly round: number; readonly sig: string }>();
  #toldAt = 0;
  /** Number of hubs whose prices count in the last round, and of those that told none; null: there was none. */
  last: LastPrices | null = null;

  constructor(options: PriceRoundsOptions) {
    this.#options = options;
  }

  /** Reads where the log is: at the start, and when a state has replaced the tables. */
  async load(): Promise<void> {
    const last = await this.#options.journal.last();
    await this.#takeLast(last);
  }

  /** Takes who qualifies for prices, and whether this hub is one of them. */
  noteCapabilities(known: readonly KnownCapability[]): void {
    const { key } = this.#options;
    const priced = known.filter(({ name, phase }) => name === 'price' && (phase === 'qualified' || phase === 'ready'));
    const isReady = priced.some(({ pubkey, phase }) => pubkey === key.pubkey && phase === 'ready');
    this.#take({ type: 'capability.changed', isOn: priced.length > 0, isReady });
  }

  /** Takes the prices that this hub found. @param at  epoch milliseconds */
  find(at: number, prices: Submission['prices']): void {
    this.#options.write(async () => {
      this.#take({ type: 'prices.found', at, height: await this.#options.journal.height(), prices });
    });
  }

  tick(now: number): void {
    this.#take({ type: 'clock.ticked', now });
    const { rules } = this.#options;
    if (!this.#last || this.#last.signers.size === rules.keys.length || now < this.#toldAt + TELL_MS) return;
    this.#toldAt = now;
    const { round, statement } = this.#last;
    this.#options.write(() => this.#tellStatement(round, statement));
  }

  /** Takes a genuine message of another hub of the set. @returns whether it is about rounds */
  receive({ type, sender, data }: Envelope): boolean {
    const { set, write } = this.#options;
    if (data['set'] !== set) return false;
    const { submission, seen, round, hash, sig } = data;
    switch (type) {
      case 'ORACLE_PRICE_SUBMIT':
        if (isSubmission(submission)) this.#take({ type: 'submission.received', submission });
        return true;
      case 'ORACLE_SEEN':
        if (isSeen(seen)) this.#take({ type: 'list.received', seen });
        return true;
      case 'ORACLE_ASK':
        if (typeof round === 'number' && typeof hash === 'string')
          this.#take({ type: 'submission.asked', from: sender, round, hash });
        return true;
      case 'ORACLE_STATEMENT':
        if (typeof round !== 'number' || typeof sig !== 'string') return true;
        if (round === this.#last?.round) write(() => this.#keepStatements(new Map([[sender, sig]])));
        else if (round > this.#state.decided) this.#early.set(sender, { round, sig });
        return true;
      default:
        return false;
    }
  }

  /** Takes a batch that is in the database. */
  async noteApplied({ operations, time }: Batch): Promise<void> {
    const { journal, onDecided } = this.#options;
    if (!operations.some(({ body }) => readRound(body) !== null)) return;
    const last = await journal.last();
    if (!last || last.round <= this.#state.decided) return; // all hubs refused it
    await this.#takeLast(last);
    onDecided(time);
    if (!this.#last) return;
    const early = [...this.#early].filter(([, { round }]) => round === last.round);
    await this.#keepStatements(new Map(early.map(([pubkey, { sig }]) => [pubkey, sig])));
    await this.#tellStatement(this.#last.round, this.#last.statement);
  }

  async #takeLast(last: DecidedRound | null): Promise<void> {
    if (!last) return;
    const own = await this.#options.journal.own<Submission>(last.round, 'submission');
    const [counted, missed] = [last.counted.length, last.qualified.length - last.counted.length];
    this.last = { counted, missed, deviation: own && deviationOf(own, last) };
    const statement = statementOf(last);
    const signers = new Set((await this.#options.journal.signatures(last.round)).keys());
    this.#last = statement && { round: last.round, statement, signers };
    this.#take({ type: 'round.decided', round: last.round });
  }

  /** Signs the prices of a round. @returns undefined: this hub has signed others for it, and signs no second ones */
  async #sign(round: number, statement: Uint8Array): Promise<string | undefined> {
    const { key, journal } = this.#options;
    const sig = signStatement(statement, key);
    return (await journal.keepOwn(round, 'statement', sig)) === sig ? sig : undefined;
  }

  async #tellStatement(round: number, statement: Uint8Array): Promise<void> {
    const { set, gossip, key } = this.#options;
    const sig = await this.#sign(round, statement);
    if (sig === undefined) return;
    await this.#keepStatements(new Map([[key.pubkey, sig]]));
    gossip.publish('ORACLE_STATEMENT', { set, round, sig });
  }

  /** Keeps genuine signatures of the last round's prices. @param signed  by key */
  async #keepStatements(signed: ReadonlyMap<string, string>): Promise<void> {
    const { rules, journal, onSigned } = this.#options;
    const last = this.#last;
    if (!last) return;
    const isNew = ([pubkey, sig]: readonly [string, string]) =>
      rules.keys.includes(pubkey) && !last.signers.has(pubkey) && isStatement(last.statement, pubkey, sig);
    const good = new Map([...signed].filter(isNew));
    await journal.keepStatements(last.round, good);
    for (const pubkey of good.keys()) last.signers.add(pubkey);
    if (good.size > 0) await onSigned();
  }

  #take(event: GatheringEvent): void {
    const { key, rules } = this.#options;
    const { state, effects } = stepGathering(this.#state, event, { self: key.pubkey, rules });
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: GatheringEffect): void {
    const { key, set, gossip, journal, write, submit } = this.#options;
    switch (effect.type) {
      case 'submit':
        write(async () => {
          if (!(await journal.maySign(effect.submission.round))) return;
          const own = signSubmission(set, effect.submission, key);
          const submission = await journal.keepOwn(own.round, 'submission', own);
          gossip.publish('ORACLE_PRICE_SUBMIT', { set, submission });
          this.#take({ type: 'submission.received', submission });
        });
        return;
      case 'list':
        write(async () => {
          if (!(await journal.maySign(effect.list.round))) return;
          const own = signSeen(set, effect.list, key);
          const seen = await journal.keepOwn(own.round, 'list', own);
          gossip.publish('ORACLE_SEEN', { set, seen });
          this.#take({ type: 'list.received', seen });
        });
        return;
      case 'ask':
        gossip.sendTo(effect.to, 'ORACLE_ASK', { set, round: effect.round, hash: effect.hash });
        return;
      case 'send':
        gossip.sendTo(effect.to, 'ORACLE_PRICE_SUBMIT', { set, submission: effect.submission });
        return;
      case 'tellAgain':
        for (const submission of effect.submissions) gossip.publish('ORACLE_PRICE_SUBMIT', { set, submission });
        for (const seen of effect.lists) gossip.publish('ORACLE_SEEN', { set, seen });
        return;
      case 'propose':
        // Another hub may have been faster, or the set has no quorum: the next one proposes it.
        submit(roundBodyOf(effect.gathered)).catch(() => undefined);
    }
  }
}

/** Returns the largest part by which submitted prices differ from the decided ones. */
function deviationOf({ prices }: Submission, { pairs }: DecidedRound): number {
  const own = new Map(prices);
  let largest = 0;
  for (const { pair, price } of pairs) {
    const [mine, decided] = [own.get(pair), Number(price)];
    if (mine !== undefined && decided > 0) largest = Math.max(largest, Math.abs(Number(mine) - decided) / decided);
  }
  return largest;
}
