import type { SigningKey } from '../../../consensus/auth-signature.ts';
import { PlatformError } from '../../../errors.ts';
import { isCommitted } from '../consensus/certificates.ts';
import type { ConsensusEvent, Effect } from '../consensus/events.ts';
import { type Committed, EMPTY_LOG, type Message, type Operation, type Signed } from '../consensus/messages.ts';
import { type HubPhase, isDeciding, lostPlaceOf, phaseOf, type Split, splitOf } from '../consensus/phase.ts';
import { MOST_PENDING, MOST_SKEW_MS, neededPeers, type Rules } from '../consensus/rules.ts';
import { type ConsensusState, isKept, restore, type StoredVote, unsignedOf } from '../consensus/state.ts';
import { step } from '../consensus/step.ts';
import type { Envelope } from '../gossip/envelope.ts';
import { type Gossip, LongMessages } from '../gossip/long-messages.ts';
import { signMessage, signOperation } from '../gossip/signatures.ts';
import type { Journal } from '../journal/journal.ts';
import type { RoundJournal } from '../journal/round-journal.ts';
import type { Matter } from '../matters/records.ts';
import type { SwapWithActions } from '../matters/swaps.ts';
import { readCapability } from '../rounds/operations.ts';
import type { RoundRules } from '../rounds/statements.ts';
import { Accused } from './accused.ts';
import { Answers } from './answers.ts';
import { Callers } from './callers.ts';
import { Capabilities } from './capabilities.ts';
import { PacedGossip } from './paced-gossip.ts';
import { PricePublishing } from './price-publishing.ts';
import { PriceRounds } from './price-rounds.ts';
import { StateFetch } from './state-fetch.ts';
import { packed, readHeard, submissionsOf } from './wire.ts';
import { Witness } from './witness.ts';

/** Options of a hub in validator mode. */
interface ValidatorOptions {
  readonly key: SigningKey;
  /** Id of the set, 64 hex digits. */
  readonly set: string;
  readonly rules: Rules;
  readonly journal: Journal;
  readonly roundJournal: RoundJournal;
  /** Rounds of prices; null: the set makes none. */
  readonly roundRules: RoundRules | null;
  /** Reads open matters from the database, oldest first. */
  readonly readOpenMatters: () => Promise<readonly Matter[]>;
  /** Reads the swaps that this hub began and that are not over. */
  readonly readOwnSwaps: () => Promise<readonly SwapWithActions[]>;
  /** Called when a round was decided, with its time in epoch milliseconds. */
  readonly onRound: (time: number) => void;
  /** Capabilities that this hub does not serve. */
  readonly disabled: readonly string[];
  readonly gossip: Gossip;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Longest time that a caller waits for its write, in milliseconds. */
  readonly writeTimeoutMs: number;
  /** Batches below a stable checkpoint that stay in the log. */
  readonly logKeep: number;
  /** Milliseconds after which a write to the database is given up; default: two minutes. */
  readonly longestWriteMs?: number;
  /** Takes two different messages of one hub for one place. */
  readonly onEvidence: (first: Signed<Message>, second: Signed<Message>) => void;
  /** Takes a hub that sent what no honest hub sends, and what that was. */
  readonly onFalse: (from: string, what: string) => void;
  /** Takes the place of a batch that this hub has signed and does not know of. */
  readonly onForgotten: (seq: number) => void;
  /** Takes a message that is too long for all hubs, with its bytes. */
  readonly onTooLong: (type: string, bytes: number) => void;
  /** Called after each look at the clock. */
  readonly onTick: () => void;
  /** Takes why this hub votes no more, once. */
  readonly onHalt: (reason: PlatformError) => void;
}

/** Pause between two looks at the clock while something waits to be decided, or a state is fetched. */
const TICK_MS = 50;
/** Pause between two looks at the clock while nothing does: each one wakes a core. */
const CALM_TICK_MS = 1_000;
/** Milliseconds with fewer peers than a quorum needs, after which writes are refused at once. */
const LONELY_MS = 10_000;
/** A state that replaces all tables takes less. A connection whose other end is gone may be silent for a quarter of an hour. */
const LONGEST_WRITE_MS = 120_000;

/**
 * A hub of a set: hands what happens to the core, and carries out what that says. One thing is written at a time, in order.
 *
 * A hub whose database fails, or which has signed another message before, votes no more: it says so once and is to be started anew.
 */
export class ValidatorHub {
  readonly #options: ValidatorOptions;
  #state: ConsensusState | null = null;
  #numbers = 0;
  /** Messages that are signed together, by one write. */
  #unsigned: Extract<Effect, { type: 'vote' }>[] = [];
  /** Operations of this hub that are kept together, by one write. */
  readonly #unkept: Operation[] = [];
  #writing: Promise<void> = Promise.resolve();
  /** Beginning of the present write by the clock of the thread; null: none is under way. */
  #writingSince: number | null = null;
  #ticking: NodeJS.Timeout | undefined;
  /** Pause between its looks at the clock; 0: it looks no more. */
  #tickMs = 0;
  #stableSeq = 0;
  /** Time since which fewer peers are connected than a quorum needs, epoch milliseconds; null: there are enough. */
  #lonelySince: number | null = null;
  #isEnded = false;
  readonly #callers = new Callers();
  readonly #answers: Answers;
  readonly #paced: PacedGossip;
  readonly #gossip: LongMessages;
  readonly #evidence = new Accused();
  readonly #fetching: StateFetch;
  readonly capabilities: Capabilities;
  /** Part in the rounds of prices; null: the set makes none. */
  readonly rounds: PriceRounds | null;
  /** Part in the publishing of these; null: the set makes none. */
  readonly publishing: PricePublishing | null;
  /** Part in what the set attests. */
  readonly witness: Witness;

  constructor(options: ValidatorOptions) {
    const { journal, rules, set, key, disabled, roundRules, roundJournal, onRound: onDecided } = options;
    this.#options = options;
    this.#paced = new PacedGossip(options.gossip);
    const gossip = new LongMessages(this.#paced, options.onTooLong);
    this.#gossip = gossip;
    const write = (work: () => Promise<void>) => this.#write(work);
    const submit = (body: string) => this.submit(body);
    const publish = (type: string, data: Readonly<Record<string, unknown>>) => gossip.publish(type, data);
    this.capabilities = new Capabilities({ self: key.pubkey, set, disabled, submit, publish });
    const { readOpenMatters: readOpen, readOwnSwaps: readSwaps } = options;
    const waiting = () => this.#ownPending().map(({ body }) => body);
    this.witness = new Witness({ key, set, keys: rules.keys, readOpen, readSwaps, waiting, submit });
    const ofRounds = roundRules && { rules: roundRules, journal: roundJournal, set, write };
    this.publishing =
      ofRounds && new PricePublishing({ ...ofRounds, self: key.pubkey, publish, now: () => this.#state?.now ?? 0 });
    const onSigned = async () => await this.publishing?.load();
    this.rounds = ofRounds && new PriceRounds({ ...ofRounds, key, gossip, submit, onDecided, onSigned });
    const stable = () => this.#state?.stable ?? EMPTY_LOG;
    this.#answers = new Answers({ set, journal, gossip, seq: () => this.standing.seq, stable, write });
    this.#fetching = new StateFetch({
      journal,
      rules,
      ask: (to, hash) => gossip.sendTo(to, 'STATE_CHUNK_REQUEST', { set, hash }),
      onFalse: options.onFalse,
      write,
      now: options.now,
      position: () => ({ seq: this.standing.seq, isApplying: this.#state?.applying !== null }),
      onReplaced: async (stable, applied) => {
        this.#take({ type: 'state.replaced', stable, applied });
        this.#callers.leaveBelow(this.#state!.applied.next.get(key.pubkey) ?? 0);
        await this.#loadFacts();
      }
    });
  }

  /** View and last place of the log, as others learn them. */
  get standing(): { readonly view: number; readonly seq: number } {
    if (!this.#state) return { view: 0, seq: 0 };
    const { view, isChanging, applied } = this.#state;
    return { view: isChanging ? view - 1 : view, seq: applied.seq };
  }

  /** State of the machine `validator`. */
  get phase(): HubPhase {
    return this.#state ? phaseOf(this.#state, this.#options.rules) : 'catchingUp';
  }

  /** Number of operations of all hubs that wait for a decision. */
  get waiting(): number {
    return this.#state?.pending.size ?? 0;
  }

  /** Last place of its log that was set aside, which neither this hub nor another one that it hears has now; null: it can be fetched. */
  get lost(): number | null {
    return this.#state && lostPlaceOf(this.#state, this.#options.rules);
  }

  /** States after one batch in which hubs differ, without a quorum for one of them; null where they agree. */
  get split(): Split | null {
    return this.#state && splitOf(this.#state);
  }

  /** Whether operations of an earlier start wait for the set. */
  get isWaiting(): boolean {
    return this.#ownPending().length > 0;
  }

  /** Goes on from the database. @throws {PlatformError} HUB_HALTED when it says that this hub votes no more */
  async start(): Promise<void> {
    const { journal, now, set, key } = this.#options;
    const reason = await journal.halt();
    if (reason !== null) throw new PlatformError('HUB_HALTED', { reason });
    const restored = await journal.load(now());
    const next = restored.applied.next.get(key.pubkey) ?? 0;
    this.#numbers = restored.pending.reduce((most, { number }) => Math.max(most, number + 1), next);
    this.#state = restore(restored);
    this.#stableSeq = restored.stable.seq;
    // Before the first batch the tables have what another set has left. Messages are taken meanwhile, and a round may be proposed.
    if (restored.applied.seq > 0) await this.#loadFacts();
    for (const message of unsignedOf(restored)) this.#carryOut({ type: 'vote', message, prepared: null });
    this.#pace();
    for (const { type, operations } of submissionsOf(restored.pending)) this.#gossip.publish(type, { set, operations });
  }

  /** Votes no more, and waits for what is being written. */
  async stop(): Promise<void> {
    this.#leave(new PlatformError('HUB_HALTED', { reason: 'it is being stopped' }));
    await this.#writing;
  }

  /**
   * Writes by the log. @returns the place at which it is applied here
   *
   * @throws {PlatformError} CONSENSUS_TIMEOUT when that takes too long: it may still be applied  @throws {PlatformError} HUB_HALTED
   * @throws {PlatformError} REQUEST_INVALID when all hubs refuse it  @throws {PlatformError} NO_QUORUM
   */
  async submit(body: string): Promise<number> {
    const { key, set, rules, writeTimeoutMs, now } = this.#options;
    const gossip = this.#gossip;
    if (this.#isEnded || !this.#state) throw new PlatformError('HUB_HALTED');
    if (this.#lonelySince !== null && now() - this.#lonelySince >= LONELY_MS)
      throw new PlatformError('NO_QUORUM', {
        reason: `${gossip.peers.length} of ${this.#needed} needed hubs are connected`
      });
    if (this.#callers.isFull) throw new PlatformError('CONSENSUS_TIMEOUT', { reason: 'too many writes wait' });
    // Its log may have come from other hubs since it started.
    const next = this.#state.applied.next.get(key.pubkey) ?? 0;
    this.#numbers = Math.max(this.#numbers, next);
    // Whose callers have gone still waits. One more would not be kept, and all that this hub numbers after it would wait for it for ever.
    if (this.#numbers >= next + MOST_PENDING)
      throw new PlatformError('CONSENSUS_TIMEOUT', { reason: 'too many writes wait' });
    const operation = signOperation(set, this.#numbers, body, key);
    // One that no hub applies would hold up all that this hub numbers after it.
    if (!rules.isSubmitted(operation))
      throw new PlatformError('REQUEST_INVALID', { reason: 'no hub of the set can carry out this operation' });
    this.#numbers += 1;
    const answer = this.#callers.wait(operation, writeTimeoutMs);
    this.#unkept.push(operation);
    if (this.#unkept.length === 1) this.#paced.inTurn(() => this.#write(() => this.#keepOperations()));
    return answer;
  }

  /** Takes a genuine message of another hub of the set. */
  receive(received: Envelope): void {
    const { rules, set, onFalse } = this.#options;
    const gossip = this.#gossip;
    const envelope = gossip.receive(received);
    if (!envelope) return;
    if (this.capabilities.receive(envelope) || this.rounds?.receive(envelope)) return;
    if (this.publishing?.receive(envelope)) return;
    const heard = readHeard(envelope, set);
    const from = envelope.sender;
    switch (heard?.kind) {
      case 'messages':
        for (const signed of heard.messages) {
          // Its sender has checked it, or lies: the rest is not worth the work.
          if (!rules.isSigned(signed)) {
            onFalse(from, `a message that hub ${signed.sender} did not sign`);
            return;
          }
          this.#take({ type: 'message.received', signed });
        }
        return;
      case 'operations':
        for (const operation of heard.operations) {
          // Where nothing moves all that waits is sent again: a thousand checks each time would keep the hubs from moving.
          if (this.#state && isKept(this.#state, operation)) continue;
          if (!rules.isSubmitted(operation)) {
            onFalse(from, 'an operation that its submitter did not sign');
            return;
          }
          this.#take({ type: 'operation.submitted', operation });
        }
        return;
      case 'standing':
        this.#take({ type: 'peer.heard', from, view: heard.view, seq: heard.seq });
        return;
      case 'ask':
        this.#answers.sendLog(from, heard.seq);
        return;
      case 'log':
        this.#takeLog(from, heard.entries);
        return;
      case 'state':
        this.#fetching.offer(from, heard.stable, heard.manifest);
        return;
      case 'askChunk':
        this.#answers.sendChunk(from, heard.hash);
        return;
      case 'chunk':
        this.#fetching.take({ type: 'chunk.received', from, hash: heard.hash, text: heard.text });
        return;
      default:
    }
  }

  /** Takes a part of another hub's log where what this hub lacks next is decided. */
  #takeLog(from: string, entries: readonly Committed[]): void {
    const { rules, onFalse } = this.#options;
    const next = entries.find(({ batch }) => batch.seq > this.standing.seq);
    if (next && !isCommitted(rules, next)) onFalse(from, `a batch ${next.batch.seq} that no quorum has committed`);
    else this.#take({ type: 'log.fetched', entries });
  }

  #take(event: ConsensusEvent): void {
    if (this.#isEnded || !this.#state) return;
    const now = this.#options.now();
    if (now > this.#state.now + TICK_MS && event.type !== 'clock.ticked') this.#take({ type: 'clock.ticked', now });
    const { state, effects } = step(this.#state, event, this.#options.rules);
    this.#state = state;
    if (state.stable.seq > this.#stableSeq && state.applied.seq >= state.stable.seq) {
      this.#stableSeq = state.stable.seq;
      const { journal, logKeep } = this.#options;
      const { parts } = this.#fetching;
      this.#write(() => journal.keepStable(state.stable, logKeep, parts));
    }
    for (const effect of effects) this.#carryOut(effect);
    this.#pace();
  }

  /** Looks at the clock as often as it matters. */
  #pace(): void {
    const isBusy = this.#fetching.isFetching || (this.#state !== null && isDeciding(this.#state));
    const pauseMs = isBusy ? TICK_MS : CALM_TICK_MS;
    if (pauseMs === this.#tickMs || this.#isEnded) return;
    this.#tickMs = pauseMs;
    clearInterval(this.#ticking);
    this.#ticking = setInterval(() => this.#tick(), pauseMs);
  }

  #carryOut(effect: Effect): void {
    const { set, journal, rules, onEvidence, onFalse, onForgotten } = this.#options;
    const gossip = this.#gossip;
    switch (effect.type) {
      case 'vote':
        this.#unsigned.push(effect);
        if (this.#unsigned.length === 1) this.#paced.inTurn(() => this.#write(() => this.#vote()));
        return;
      case 'apply':
        this.#write(async () => {
          const { seq, operations } = effect.batch;
          if (seq !== this.standing.seq + 1) return; // a state has replaced what it follows
          const { state, refused } = await journal.apply(effect.committed, rules.digestOf(effect.batch));
          this.#take({ type: 'batch.applied', seq, state });
          if (operations.some(({ body }) => readCapability(body) !== null)) await this.#readCapabilities();
          await this.rounds?.noteApplied(effect.batch);
          if (this.witness.concerns(effect.batch)) await this.witness.load();
          for (const [place, operation] of operations.entries())
            this.#callers.answer(operation, seq, refused.get(place) ?? null);
        });
        return;
      case 'send':
        this.#answers.send(effect.to, effect.signed, this.#state?.now ?? 0);
        return;
      case 'sendAgain':
        for (const messages of packed(effect.messages)) gossip.publish('CONSENSUS_MESSAGES', { set, messages });
        for (const { type, operations } of submissionsOf(this.#ownPending())) gossip.publish(type, { set, operations });
        return;
      case 'handOn':
        for (const { type, operations } of submissionsOf(effect.operations)) gossip.publish(type, { set, operations });
        return;
      case 'tellStanding':
        if (effect.to === null) gossip.publish('CONSENSUS_STANDING', { set, ...this.standing });
        else gossip.sendTo(effect.to, 'CONSENSUS_STANDING', { set, ...this.standing });
        return;
      case 'fetch':
        gossip.sendTo(effect.from, 'STATE_REQUEST', { set, seq: effect.seq });
        return;
      case 'unproved':
        onFalse(effect.signed.sender, `a message about view ${effect.signed.message.view} without its proofs`);
        return;
      case 'differs':
        onFalse(effect.signed.sender, `another state than this hub has after batch ${effect.signed.message.seq}`);
        return;
      case 'forgotten':
        onForgotten(effect.seq);
        return;
      case 'evidence':
        if (!this.#evidence.isNew(effect.first)) return;
        this.#write(() => journal.keepEvidence(effect.first, effect.second));
        onEvidence(effect.first, effect.second);
        return;
      case 'halt': {
        const reason = `its state after batch ${effect.seq} is not the one that a quorum signed`;
        this.#write(async () => {
          await journal.keepHalt(reason);
          this.#end(new PlatformError('HUB_HALTED', { reason }));
        });
        return;
      }
    }
  }

  /** Keeps and tells all operations of this hub that wait: one write. */
  async #keepOperations(): Promise<void> {
    const { journal, set } = this.#options;
    const operations = this.#unkept.splice(0);
    await journal.keepOperations(operations);
    for (const operation of operations) this.#take({ type: 'operation.submitted', operation });
    for (const { type, operations: some } of submissionsOf(operations))
      this.#gossip.publish(type, { set, operations: some });
  }

  /** Signs, keeps and sends all votes that wait: one write, one envelope. */
  async #vote(): Promise<void> {
    const { journal, key, set } = this.#options;
    const votes: StoredVote[] = [];
    for (const { message, prepared } of this.#unsigned.splice(0))
      votes.push({ signed: signMessage(set, message, key), prepared });
    await journal.keepVotes(votes);
    const messages = votes.map(({ signed }) => signed);
    for (const some of packed(messages)) this.#gossip.publish('CONSENSUS_MESSAGES', { set, messages: some });
    for (const signed of messages) this.#take({ type: 'vote.stored', signed });
  }

  /** Reads what the log says of rounds and capabilities. */
  async #loadFacts(): Promise<void> {
    await this.rounds?.load();
    await this.publishing?.load();
    await this.witness.load();
    await this.#readCapabilities();
  }

  async #readCapabilities(): Promise<void> {
    const known = await this.#options.roundJournal.capabilities();
    this.capabilities.note(known);
    this.rounds?.noteCapabilities(known);
  }

  #ownPending(): Operation[] {
    const { key } = this.#options;
    return [...(this.#state?.pending.values() ?? [])]
      .map(({ operation }) => operation)
      .filter(({ submitter }) => submitter === key.pubkey);
  }

  /** Other hubs that must be connected for a decision. */
  get #needed(): number {
    return neededPeers(this.#options.rules.quorum);
  }

  #tick(): void {
    const { now } = this.#options;
    const gossip = this.#gossip;
    this.#lonelySince = gossip.peers.length >= this.#needed ? null : (this.#lonelySince ?? now());
    if (!this.#state) return;
    const backMs = this.#state.now - now();
    // All its times are of the wrong clock: until that comes again it would take no proposal, and nobody would take its own.
    if (backMs > MOST_SKEW_MS) {
      this.#end(new PlatformError('CLOCK_STEPPED_BACK', { reason: `it went back by ${Math.round(backMs / 1_000)} s` }));
      return;
    }
    const { longestWriteMs = LONGEST_WRITE_MS } = this.#options;
    if (this.#writingSince !== null && performance.now() > this.#writingSince + longestWriteMs) {
      const reason = `MariaDB has not answered for ${Math.round(longestWriteMs / 1_000)} s`;
      this.#end(new PlatformError('DATABASE_UNAVAILABLE', { reason }));
      return;
    }
    this.#take({ type: 'clock.ticked', now: Math.max(this.#state.now, now()) });
    this.rounds?.tick(this.#state.now);
    this.publishing?.tick(this.#state.now);
    this.witness.tick(this.#state.now);
    this.#fetching.take({
      type: 'clock.ticked',
      now: this.#state.now,
      applied: this.#state.applied.seq,
      peers: gossip.peers
    });
    this.#pace();
    this.#options.onTick();
  }

  /** Adds to what is written, one after the other. A failure ends this hub: it no longer knows what it has signed. */
  #write(work: () => Promise<void>): void {
    this.#writing = this.#writing
      .then(async () => {
        if (this.#isEnded) return;
        this.#writingSince = performance.now();
        await work();
        this.#writingSince = null;
      })
      .catch((caught: unknown) => this.#end(caught as PlatformError));
  }

  #end(reason: PlatformError): void {
    if (this.#isEnded) return;
    this.#leave(reason.code === 'HUB_HALTED' ? reason : new PlatformError('HUB_HALTED', {}, { cause: reason }));
    this.#options.onHalt(reason);
  }

  /** Votes no more, and tells all callers. */
  #leave(reason: PlatformError): void {
    this.#isEnded = true;
    clearInterval(this.#ticking);
    this.#callers.leave(reason);
  }
}
