import { Keys } from '../../lab/federation/keys.ts';
import type { ConsensusEvent, Effect } from '../../src/hub/federation/consensus/events.ts';
import type {
  Batch,
  Message,
  Operation,
  PrePrepare,
  Signed,
  Vote
} from '../../src/hub/federation/consensus/messages.ts';
import {
  type ConsensusState,
  NOTHING_RESTORED,
  type Restored,
  restore
} from '../../src/hub/federation/consensus/state.ts';
import { step } from '../../src/hub/federation/consensus/step.ts';

/** Keys of all hubs of a test file: one hub's signature is checked by another. */
const KEYS = new Keys(4);

/** One honest hub of four, `a` to `d`, whose every event a test chooses. It stores its votes at once. */
export class OneHub {
  readonly keys = KEYS;
  readonly self: string;
  state: ConsensusState;
  /** Effects since they were read last. */
  #effects: Effect[] = [];

  constructor(self: string, restored: Partial<Restored> = {}) {
    this.self = self;
    this.state = restore({ ...NOTHING_RESTORED, now: 1_000_000, ...restored });
  }

  /** Steps, with the storing of votes that follows. */
  take(event: ConsensusEvent): void {
    const { state, effects } = step(this.state, event, this.keys.rulesOf(this.self));
    this.state = state;
    this.#effects.push(...effects);
    for (const effect of effects)
      if (effect.type === 'vote') this.take({ type: 'vote.stored', signed: this.keys.sign(this.self, effect.message) });
  }

  receive(sender: string, message: Message): void {
    this.take({ type: 'message.received', signed: this.keys.sign(sender, message) });
  }

  /** Takes an equal message of each sender. */
  receiveAll(senders: string, message: Message): void {
    for (const sender of senders) this.receive(sender, message);
  }

  /** Lets time pass in ticks of a second. */
  wait(seconds: number): void {
    for (let second = 0; second < seconds; second++) this.take({ type: 'clock.ticked', now: this.state.now + 1_000 });
  }

  /** Has the batch that is being written in the database. */
  write(stateDigest: string | null = null): void {
    this.take({ type: 'batch.applied', seq: this.state.applying!, state: stateDigest });
  }

  /** Returns the effects since the last call. */
  effects(): readonly Effect[] {
    return this.#effects.splice(0);
  }

  /** Returns the messages that it has cast since the last call, as texts like `prepare 0/1`. */
  cast(): readonly string[] {
    return this.effects().flatMap((effect) => (effect.type === 'vote' ? [nameOf(effect.message)] : []));
  }

  batch(seq: number, previous: Batch | null, changed: Partial<Batch> = {}): Batch {
    const operations = [this.operation('c', seq - 1)];
    const time = this.state.now + seq;
    return { seq, time, previous: previous === null ? '' : this.keys.digestOf(previous), operations, ...changed };
  }

  operation(submitter: string, number: number, body = `write ${number}`): Operation {
    return this.keys.submit(submitter, number, body);
  }

  proposal(view: number, batch: Batch): PrePrepare {
    return { kind: 'prePrepare', view, seq: batch.seq, digest: this.keys.digestOf(batch), batch };
  }

  vote(kind: Vote['kind'], view: number, batch: Batch): Vote {
    return { kind, view, seq: batch.seq, digest: this.keys.digestOf(batch) };
  }

  /** Has a batch committed by all in a view that `a` leads, and written. */
  decide(batch: Batch, stateDigest: string | null = null, view = 0): void {
    this.receive('a', this.proposal(view, batch));
    this.receiveAll('bcd', this.vote('prepare', view, batch));
    this.receiveAll('acd', this.vote('commit', view, batch));
    this.write(stateDigest);
  }

  signed<M extends Message>(sender: string, message: M): Signed<M> {
    return this.keys.sign(sender, message);
  }
}

function nameOf(message: Message): string {
  return [
    message.kind,
    ['view' in message ? message.view : [], 'seq' in message ? message.seq : []].flat().join('/')
  ].join(' ');
}
