import { createHash } from 'node:crypto';
import { isStable } from '../../src/hub/federation/consensus/certificates.ts';
import type { ConsensusEvent, Effect } from '../../src/hub/federation/consensus/events.ts';
import {
  type Committed,
  EMPTY_LOG,
  type Message,
  type Operation,
  type Signed,
  type Stable
} from '../../src/hub/federation/consensus/messages.ts';
import { CHECKPOINT_INTERVAL, type Rules } from '../../src/hub/federation/consensus/rules.ts';
import {
  type Applied,
  type ConsensusState,
  restore,
  type StoredVote,
  unsignedOf
} from '../../src/hub/federation/consensus/state.ts';
import { step } from '../../src/hub/federation/consensus/step.ts';
import { chunksOf, hashOf, manifestText, readManifest, rowsOf } from '../../src/hub/federation/transfer/manifest.ts';
import {
  NOTHING_FETCHED,
  type Offer,
  stepTransfer,
  type TransferEvent,
  type TransferState
} from '../../src/hub/federation/transfer/transfer.ts';
import type { Keys } from './keys.ts';
import type { SeededRandom } from './random.ts';
import { Violation } from './violation.ts';

/** Messages between hubs. */
export type Sent =
  | { readonly kind: 'signed'; readonly signed: Signed<Message> }
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'standing'; readonly view: number; readonly seq: number }
  | { readonly kind: 'ask'; readonly seq: number }
  | { readonly kind: 'log'; readonly entries: readonly Committed[] }
  | { readonly kind: 'state'; readonly stable: Stable; readonly manifest: string }
  | { readonly kind: 'askChunk'; readonly hash: string }
  | { readonly kind: 'chunk'; readonly hash: string; readonly text: string | null };

export interface World {
  readonly keys: Keys;
  readonly random: SeededRandom;
  readonly now: () => number;
  after(delayMs: number, run: () => void): void;
  send(from: string, to: string, sent: Sent): void;
  /** Called when a hub has a batch in its database. */
  applied(hub: string, committed: Committed): void;
  evidence(by: string, against: string): void;
  /** Called after each step of a hub. */
  stepped(before: ConsensusState, after: ConsensusState, rules: Rules): void;
  /** Called when a hub's database was replaced by the state at a place of the log. */
  replaced(hub: string, seq: number, tables: string): void;
  /** Called when a lying hub does what an honest one does not. */
  lied(): void;
}

/** Batches of one answer. */
const MOST_ENTRIES = 32;
/** Batches below a stable checkpoint that a hub keeps. */
const KEPT_BATCHES = 150;

interface Disk {
  stable: Stable;
  applied: Applied;
  /** Digest of the tables. */
  tables: string;
  /** Manifest of the state at the stable checkpoint; empty: it has none. */
  manifest: string;
  /** Parts of states, by their hashes. */
  chunks: Map<string, string>;
  log: Committed[];
  votes: StoredVote[];
  pending: Operation[];
}

/** Characters of a row of the tables, which are one digest; and of a part of a state. */
const [ROW_LENGTH, CHUNK_LENGTH] = [2, 7];

/** A hub of the simulation: the product's core, and a disk that a crash leaves with what was written. */
export class Hub {
  readonly key: string;
  readonly rules: Rules;
  readonly #world: World;
  readonly disk: Disk = {
    stable: EMPTY_LOG,
    applied: { seq: 0, digest: '', time: 0, next: new Map() },
    tables: '',
    manifest: '',
    chunks: new Map(),
    log: [],
    votes: [],
    pending: []
  };
  /** Clock of the machine, against that of the world. */
  skewMs = 0;
  /** Longest time that its database takes for a batch. */
  longestWriteMs = 5;
  #state: ConsensusState | null = null;
  /** Whether it has lost its database. */
  #hasForgotten = false;
  /** Number of the process: work of an earlier one is lost. */
  #life = 0;
  #numbers = 0;

  constructor(key: string, world: World) {
    this.key = key;
    this.#world = world;
    this.rules = world.keys.rulesOf(key);
  }

  get isRunning(): boolean {
    return this.#state !== null;
  }

  get state(): ConsensusState | null {
    return this.#state;
  }

  start(): void {
    const { stable, applied, log, votes, pending } = this.disk;
    const above = log.filter(({ batch }) => batch.seq > stable.seq);
    const { seq, manifest } = this.#atCheckpoint;
    const batch = above.find((committed) => committed.batch.seq === seq)?.batch;
    const digest = batch && this.rules.digestOf(batch);
    const checkpoints = digest ? [{ kind: 'checkpoint', seq, digest, state: hashOf(manifest) } as const] : [];
    this.#state = restore({ now: this.#now(), stable, applied, floor: 0, log: above, votes, pending, checkpoints });
    this.#life += 1;
    for (const message of unsignedOf({ checkpoints, votes })) this.carryOut({ type: 'vote', message, prepared: null });
    this.#tick(this.#life);
    this.#beat(this.#life);
    for (const operation of pending) this.toOthers({ kind: 'operation', operation });
  }

  crash(): void {
    this.#state = null;
    this.#transfer = NOTHING_FETCHED;
  }

  /** Loses its database, and starts with an empty one: it does not know what it has signed. */
  forget(): void {
    this.crash();
    this.#hasForgotten = true;
    const applied: Applied = { seq: 0, digest: '', time: 0, next: new Map() };
    this.#atCheckpoint = { seq: 0, manifest: '' };
    Object.assign(this.disk, { stable: EMPTY_LOG, applied, tables: '', manifest: '', chunks: new Map() });
    Object.assign(this.disk, { log: [], votes: [], pending: [] });
    this.start();
  }

  /** Takes a write. @returns its operation, which is on disk */
  submit(body: string): Operation {
    this.#numbers = Math.max(this.#numbers, this.disk.applied.next.get(this.key) ?? 0);
    const operation = this.#world.keys.submit(this.key, this.#numbers++, body);
    this.disk.pending.push(operation);
    this.step({ type: 'operation.submitted', operation });
    this.toOthers({ kind: 'operation', operation });
    return operation;
  }

  receive(from: string, sent: Sent): void {
    switch (sent.kind) {
      case 'signed':
        if (this.rules.isSigned(sent.signed)) this.step({ type: 'message.received', signed: sent.signed });
        return;
      case 'operation':
        this.step({ type: 'operation.submitted', operation: sent.operation });
        return;
      case 'standing':
        this.step({ type: 'peer.heard', from, view: sent.view, seq: sent.seq });
        return;
      case 'ask':
        this.answer(from, sent.seq);
        return;
      case 'log':
        this.step({ type: 'log.fetched', entries: sent.entries });
        return;
      case 'state':
        this.#takeOffer(from, sent.stable, sent.manifest);
        return;
      case 'askChunk':
        this.#world.send(this.key, from, {
          kind: 'chunk',
          hash: sent.hash,
          text: this.disk.chunks.get(sent.hash) ?? null
        });
        return;
      case 'chunk':
        this.#stepTransfer({ type: 'chunk.received', from, hash: sent.hash, text: sent.text });
        return;
    }
  }

  /** Hands out its log, or its state where that is pruned, and the signatures of its checkpoint. */
  answer(to: string, seq: number): void {
    const { log, stable, manifest } = this.disk;
    const first = log[0]?.batch.seq ?? Number.POSITIVE_INFINITY;
    if (seq >= first) {
      const entries = log.filter(({ batch }) => batch.seq >= seq).slice(0, MOST_ENTRIES);
      if (entries.length > 0) this.#world.send(this.key, to, { kind: 'log', entries });
    } else if (stable.seq >= seq && manifest !== '')
      this.#world.send(this.key, to, { kind: 'state', stable, manifest });
    if (seq <= stable.seq)
      for (const signed of stable.votes) this.#world.send(this.key, to, { kind: 'signed', signed });
  }

  step(event: ConsensusEvent): void {
    if (!this.#state) return;
    const life = this.#life;
    const before = this.#state;
    const { state, effects } = step(before, event, this.rules);
    this.#state = state;
    this.#world.stepped(before, state, this.rules);
    if (state.stable.seq > this.disk.stable.seq && this.disk.applied.seq >= state.stable.seq)
      this.#keepStable(state.stable);
    for (const effect of effects) this.carryOut(effect, life);
  }

  carryOut(effect: Effect, life = this.#life): void {
    switch (effect.type) {
      case 'vote':
        this.#after(this.#world.random.between(0, 3), life, () => this.#store(effect));
        return;
      case 'apply':
        this.#after(this.#world.random.between(1, this.longestWriteMs), life, () => this.#apply(effect.committed));
        return;
      case 'send':
        this.#world.send(this.key, effect.to, { kind: 'signed', signed: effect.signed });
        return;
      case 'sendAgain':
        for (const signed of effect.messages) this.toOthers({ kind: 'signed', signed });
        for (const operation of this.disk.pending) this.toOthers({ kind: 'operation', operation });
        return;
      case 'handOn':
        for (const operation of effect.operations) this.toOthers({ kind: 'operation', operation });
        return;
      case 'tellStanding':
        if (effect.to === null) this.toOthers(this.#standing());
        else this.#world.send(this.key, effect.to, this.#standing());
        return;
      case 'fetch':
        this.#world.send(this.key, effect.from, { kind: 'ask', seq: effect.seq });
        return;
      case 'unproved':
        this.#world.evidence(this.key, effect.signed.sender);
        return;
      case 'differs':
        return; // where honest hubs differ one of them halts
      case 'forgotten':
        if (!this.#hasForgotten) throw new Violation(`${this.key} does not know its commit of ${effect.seq}`);
        return;
      case 'evidence':
        this.#world.evidence(this.key, effect.first.sender);
        return;
      case 'halt':
        throw new Violation(`${this.key} halts at ${effect.seq}: ${effect.state} is not ${effect.signed}`);
    }
  }

  toOthers(sent: Sent): void {
    for (const to of this.rules.keys) if (to !== this.key) this.#world.send(this.key, to, sent);
  }

  #standing(): Sent {
    const { view, isChanging, applied } = this.#state!;
    return { kind: 'standing', view: isChanging ? view - 1 : view, seq: applied.seq };
  }

  #store({ message, prepared }: Extract<Effect, { type: 'vote' }>): void {
    const signed = this.#world.keys.sign(this.key, message);
    const place = (one: Message) => `${one.kind}/${'view' in one ? one.view : ''}/${'seq' in one ? one.seq : ''}`;
    const before = this.disk.votes.find(({ signed: { message: one } }) => place(one) === place(message));
    if (
      before &&
      'digest' in message &&
      'digest' in before.signed.message &&
      before.signed.message.digest !== message.digest
    )
      throw new Violation(`${this.key} votes twice at ${place(message)}`);
    this.disk.votes.push({ signed, prepared });
    this.step({ type: 'vote.stored', signed });
    this.toOthers({ kind: 'signed', signed });
  }

  #apply(committed: Committed): void {
    const { batch } = committed;
    const { disk } = this;
    if (batch.seq !== disk.applied.seq + 1)
      throw new Violation(`${this.key} applies ${batch.seq} after ${disk.applied.seq}`);
    const next = new Map(disk.applied.next);
    for (const { submitter, number } of batch.operations) next.set(submitter, number + 1);
    disk.applied = { seq: batch.seq, digest: this.rules.digestOf(batch), time: batch.time, next };
    const texts = batch.operations.map(({ body }) => body).join();
    disk.tables = createHash('sha256').update(`${disk.tables}|${texts}`).digest('hex').slice(0, 16);
    disk.log.push(committed);
    disk.pending = disk.pending.filter(({ number }) => number >= (next.get(this.key) ?? 0));
    this.#world.applied(this.key, committed);
    const isDue = batch.seq % CHECKPOINT_INTERVAL === 0;
    if (isDue) this.#atCheckpoint = { seq: batch.seq, manifest: this.#dump() };
    this.step({ type: 'batch.applied', seq: batch.seq, state: isDue ? hashOf(this.#atCheckpoint.manifest) : null });
  }

  #atCheckpoint = { seq: 0, manifest: '' };

  /** Keeps the tables in parts. @returns their manifest */
  #dump(): string {
    const { tables, chunks, applied } = this.disk;
    const rows = Array.from({ length: tables.length / ROW_LENGTH }, (_, at) =>
      tables.slice(at * ROW_LENGTH, (at + 1) * ROW_LENGTH)
    );
    const parts = chunksOf(rows, CHUNK_LENGTH);
    for (const part of parts) chunks.set(hashOf(part), part);
    return manifestText({ time: applied.time, next: applied.next, chunks: parts.map(hashOf) });
  }

  #keepStable(stable: Stable): void {
    const { disk } = this;
    disk.stable = stable;
    disk.manifest = this.#atCheckpoint.seq === stable.seq ? this.#atCheckpoint.manifest : '';
    disk.log = disk.log.filter(({ batch }) => batch.seq > stable.seq - KEPT_BATCHES);
    disk.votes = disk.votes.filter(({ signed: { message } }) => !('seq' in message) || message.seq > stable.seq);
  }

  #transfer: TransferState = NOTHING_FETCHED;

  #takeOffer(from: string, stable: Stable, text: string): void {
    const manifest = readManifest(text);
    if (!manifest || hashOf(text) !== stable.state || !isStable(this.rules, stable)) return;
    if (stable.seq <= this.disk.applied.seq) return;
    const missing = [...new Set(manifest.chunks)].filter((hash) => !this.disk.chunks.has(hash));
    this.#stepTransfer({ type: 'state.offered', from, offer: { stable, manifest, text }, missing });
  }

  #stepTransfer(event: TransferEvent): void {
    const { state, effects } = stepTransfer(this.#transfer, event);
    this.#transfer = state;
    for (const effect of effects) {
      if (effect.type === 'askChunk') this.#world.send(this.key, effect.to, { kind: 'askChunk', hash: effect.hash });
      else if (effect.type === 'keepChunk') this.disk.chunks.set(effect.hash, effect.text);
      else this.#replaceState(effect.offer);
    }
  }

  #replaceState({ stable, manifest, text }: Offer): void {
    const { disk } = this;
    if (stable.seq <= disk.applied.seq) return;
    const applied: Applied = { seq: stable.seq, digest: stable.digest, time: manifest.time, next: manifest.next };
    const tables = manifest.chunks.flatMap((hash) => rowsOf(disk.chunks.get(hash)!)).join('');
    this.#world.replaced(this.key, stable.seq, tables);
    this.#life += 1; // what was under way is of another state
    this.#atCheckpoint = { seq: stable.seq, manifest: text };
    Object.assign(disk, { stable, applied, tables, manifest: text, log: [] });
    disk.votes = disk.votes.filter(({ signed: { message } }) => !('seq' in message) || message.seq > stable.seq);
    disk.pending = disk.pending.filter(({ number }) => number >= (applied.next.get(this.key) ?? 0));
    this.#tick(this.#life);
    this.#beat(this.#life);
    this.step({ type: 'state.replaced', stable, applied });
  }

  #tick(life: number): void {
    this.#after(50, life, () => {
      const now = Math.max(this.#state!.now, this.#now());
      this.step({ type: 'clock.ticked', now });
      const peers = this.rules.keys.filter((key) => key !== this.key);
      this.#stepTransfer({ type: 'clock.ticked', now, applied: this.disk.applied.seq, peers });
      this.#tick(this.#life);
    });
  }

  #beat(life: number): void {
    this.#after(1_000, life, () => {
      this.toOthers(this.#standing());
      this.#beat(this.#life);
    });
  }

  #after(delayMs: number, life: number, run: () => void): void {
    this.#world.after(delayMs, () => {
      if (this.#state && life === this.#life) run();
    });
  }

  #now(): number {
    return this.#world.now() + this.skewMs;
  }
}
