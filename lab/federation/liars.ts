import type { Effect } from '../../src/hub/federation/consensus/events.ts';
import type { Batch, Message, Operation, Prepared, Signed } from '../../src/hub/federation/consensus/messages.ts';
import { MOST_SKEW_MS } from '../../src/hub/federation/consensus/rules.ts';
import { hashOf, manifestText, readManifest } from '../../src/hub/federation/transfer/manifest.ts';
import { Hub, type Sent, type World } from './hub.ts';
import { Keys } from './keys.ts';

/** Behaviours of a lying hub. */
export const BEHAVIOURS = [
  'equivocates',
  'withholds votes',
  'forges certificates',
  'repeats old views',
  'hands out wrong logs',
  'floods',
  'splits submissions',
  'tells a false time',
  'leads in silence',
  'leads half of them',
  'censors',
  'replays across sets',
  'writes for others',
  'loses its database'
] as const;
/** A set of which the honest hubs have been members before. */
const OTHER_SET = new Keys(7);

export type Behaviour = (typeof BEHAVIOURS)[number];

const MINE = (submitter: string): Operation => ({ submitter, number: 0, body: 'mine', sig: '' });
/** Old messages that a liar keeps. */
const MOST_KEPT = 300;

/** A hub with the key of a member that follows the protocol but for one behaviour. */
export class Liar extends Hub {
  readonly #behaviour: Behaviour;
  readonly #world: World;
  readonly #kept: Signed<Message>[] = [];
  readonly #victim: string;

  constructor(key: string, world: World, behaviour: Behaviour) {
    super(key, world);
    this.#behaviour = behaviour;
    this.#world = world;
    this.#victim = world.random.pick(world.keys.keys.filter((other) => other !== key));
  }

  override carryOut(effect: Effect, life?: number): void {
    if (this.#carriesOutOtherwise(effect)) {
      this.#world.lied();
      return;
    }
    super.carryOut(effect, life);
  }

  /** Lies where its behaviour has a lie for an effect. @returns whether an honest hub's part is left undone */
  #carriesOutOtherwise(effect: Effect): boolean {
    const { random } = this.#world;
    const message = effect.type === 'vote' ? effect.message : null;
    if (effect.type === 'halt') return true; // its own affair
    switch (this.#behaviour) {
      case 'equivocates':
        return message !== null && this.#equivocate(message);
      case 'withholds votes':
        return (message?.kind === 'prepare' || message?.kind === 'commit') && random.chance(0.8);
      case 'forges certificates':
        if (message) this.#forge(message);
        return false;
      case 'tells a false time':
        if (message?.kind === 'prePrepare') {
          this.#propose(message, { time: message.batch.time + random.pick([-1, 1, 2]) * 2 * MOST_SKEW_MS });
          return true;
        }
        return false;
      case 'leads in silence':
        return message?.kind === 'prePrepare' || message?.kind === 'newView';
      case 'leads half of them':
        if (message?.kind === 'prePrepare') {
          this.#toSome(message, random.between(1, this.rules.quorum - 1));
          return true;
        }
        return false;
      case 'replays across sets':
        if (message) this.#replay(message);
        if (message?.kind === 'prePrepare' && this.disk.log.length > 0) {
          const [old] = random.pick(this.disk.log).batch.operations;
          this.#propose(message, { operations: old ? [old, ...message.batch.operations] : message.batch.operations });
          return true;
        }
        return false;
      case 'writes for others':
        if (message?.kind === 'prePrepare') {
          const number = this.disk.applied.next.get(this.#victim) ?? 0;
          const operations = [{ submitter: this.#victim, number, body: 'never submitted', sig: '' }];
          this.#propose(message, { operations });
          return true;
        }
        return false;
      case 'censors':
        if (message?.kind === 'prePrepare') {
          const operations = message.batch.operations.filter(({ submitter }) => submitter !== this.#victim);
          if (operations.length > 0) this.#propose(message, { operations });
          return true;
        }
        return false;
      default:
        return false;
    }
  }

  override receive(from: string, sent: Sent): void {
    if (sent.kind === 'signed') {
      if (this.#kept.length < MOST_KEPT) this.#kept.push(sent.signed);
      else this.#kept[this.#world.random.between(0, MOST_KEPT - 1)] = sent.signed;
    }
    if (sent.kind === 'askChunk' && this.#behaviour === 'hands out wrong logs') {
      this.#world.lied();
      const text = this.#world.random.pick(['mine\n', '', null, undefined]);
      if (text !== undefined) this.#world.send(this.key, from, { kind: 'chunk', hash: sent.hash, text });
    } else super.receive(from, sent);
    this.#disturb();
  }

  override submit(body: string) {
    const operation = super.submit(body);
    const others = this.rules.keys.filter((to) => to !== this.key);
    if (this.#behaviour === 'splits submissions') {
      this.#world.lied();
      for (const to of others) {
        const split = this.#world.keys.submit(this.key, operation.number, `${body} for ${to}`);
        this.#world.send(this.key, to, { kind: 'operation', operation: split });
      }
    }
    if (this.#behaviour === 'writes for others')
      for (let ahead = 0; ahead < 3; ahead++) {
        const number = (this.disk.applied.next.get(this.#victim) ?? 0) + ahead;
        const forged = { submitter: this.#victim, number, body: 'never submitted', sig: '' };
        for (const to of others) this.#world.send(this.key, to, { kind: 'operation', operation: forged });
      }
    return operation;
  }

  override answer(to: string, seq: number): void {
    if (this.#behaviour !== 'hands out wrong logs') {
      super.answer(to, seq);
      return;
    }
    this.#world.lied();
    const { log, stable, manifest: text } = this.disk;
    const entries = log
      .filter(({ batch }) => batch.seq >= seq)
      .map(({ batch, votes }) => ({
        batch: { ...batch, operations: [MINE(this.key)] },
        votes
      }));
    this.#world.send(this.key, to, { kind: 'log', entries });
    const mine = manifestText({ time: 1, next: new Map(), chunks: [hashOf('mine\n')] });
    this.#world.send(this.key, to, {
      kind: 'state',
      stable: { ...stable, seq: stable.seq + 100, state: hashOf(mine), votes: [...stable.votes] },
      manifest: mine
    });
    const own = readManifest(text);
    if (own) {
      const next = new Map([...own.next].map(([key, number]) => [key, number + 5]));
      const wrong = this.#world.random.pick([{ ...own, next }, { ...own, time: 1 }, { ...own, chunks: [] }, own]);
      this.#world.send(this.key, to, { kind: 'state', stable, manifest: manifestText(wrong) });
    }
  }

  #disturb(): void {
    const { random } = this.#world;
    const some = () => this.#kept[random.between(0, this.#kept.length - 1)];
    if (this.#behaviour === 'repeats old views' || this.#behaviour === 'replays across sets') {
      const old = random.chance(0.2) ? some() : undefined;
      if (!old) return;
      this.#world.lied();
      this.toOthers({ kind: 'signed', signed: old });
    }
    if (this.#behaviour === 'loses its database' && random.chance(0.002)) {
      this.#world.lied();
      this.forget();
    }
    if (this.#behaviour === 'floods' && random.chance(0.2)) {
      this.#world.lied();
      const view = random.between(0, 5);
      const seq = random.between(0, 1_000);
      for (const kind of ['prepare', 'commit'] as const)
        this.toOthers({
          kind: 'signed',
          signed: this.#world.keys.sign(this.key, { kind, view, seq, digest: String(seq) })
        });
      this.toOthers({
        kind: 'signed',
        signed: this.#world.keys.sign(this.key, {
          kind: 'checkpoint',
          seq: 100 * random.between(0, 10),
          digest: 'x',
          state: 'x'
        })
      });
    }
  }

  /** Signs another message for the same place, and sends each to a part. */
  #equivocate(message: Message): boolean {
    const { keys, random } = this.#world;
    const others = this.rules.keys.filter((key) => key !== this.key);
    if (message.kind === 'prePrepare') {
      const time = message.batch.time + 1;
      const batch = { ...message.batch, time };
      const second = { ...message, batch, digest: keys.digestOf(batch) };
      const versions = [keys.sign(this.key, message), keys.sign(this.key, second)];
      for (const to of others) this.#world.send(this.key, to, { kind: 'signed', signed: random.pick(versions) });
      for (const to of others)
        for (const version of versions)
          for (const kind of ['prepare', 'commit'] as const) {
            const { view, seq, digest } = version.message;
            if (random.chance(0.7))
              this.#world.send(this.key, to, {
                kind: 'signed',
                signed: keys.sign(this.key, { kind, view, seq, digest })
              });
          }
      return random.chance(0.5);
    }
    if ((message.kind === 'prepare' || message.kind === 'commit') && random.chance(0.1)) {
      this.#world.lied();
      this.toOthers({ kind: 'signed', signed: keys.sign(this.key, { ...message, digest: 'another' }) });
    }
    if (message.kind === 'checkpoint') {
      for (const to of others)
        this.#world.send(this.key, to, {
          kind: 'signed',
          signed: keys.sign(this.key, { ...message, state: `state for ${to}` })
        });
      return true;
    }
    return false;
  }

  /** Sends what honest hubs have signed for another batch, as members of another set. */
  #replay(message: Message): void {
    if (message.kind !== 'prepare' && message.kind !== 'commit') return;
    for (const kind of ['prepare', 'commit'] as const)
      for (const sender of this.rules.keys)
        this.toOthers({
          kind: 'signed',
          signed: OTHER_SET.sign(sender, { ...message, kind, digest: 'of another set' })
        });
  }

  #forge(message: Message): void {
    this.#world.lied();
    const { keys } = this.#world;
    if (message.kind === 'prepare' || message.kind === 'commit') {
      for (const sender of this.rules.keys)
        this.toOthers({ kind: 'signed', signed: keys.forge(sender, { ...message, digest: 'mine' }) });
      return;
    }
    if (message.kind !== 'viewChange' && message.kind !== 'newView') return;
    const view = message.view;
    const { stable } = this.disk;
    const batch: Batch = {
      seq: stable.seq + 1,
      time: this.#world.now(),
      previous: stable.digest,
      operations: [MINE(this.key)]
    };
    const digest = keys.digestOf(batch);
    const proposal = { kind: 'prePrepare', view: Math.max(0, view - 1), seq: batch.seq, digest, batch } as const;
    const leader = this.rules.keys[proposal.view % this.rules.keys.length]!;
    const forged: Prepared = {
      proposal: keys.forge(leader, proposal),
      votes: this.rules.keys.map((sender) =>
        keys.forge(sender, { kind: 'prepare', view: proposal.view, seq: batch.seq, digest })
      )
    };
    const change = { kind: 'viewChange', view, stable, last: null, places: [forged] } as const;
    this.toOthers({ kind: 'signed', signed: keys.sign(this.key, change) });
    const changes = this.rules.keys.map((sender) => keys.forge(sender, change));
    this.toOthers({ kind: 'signed', signed: keys.sign(this.key, { kind: 'newView', view, changes }) });
  }

  #propose(message: Extract<Message, { kind: 'prePrepare' }>, changed: Partial<Batch>): void {
    const { keys } = this.#world;
    const batch = { ...message.batch, ...changed };
    this.toOthers({ kind: 'signed', signed: keys.sign(this.key, { ...message, batch, digest: keys.digestOf(batch) }) });
  }

  #toSome(message: Message, most: number): void {
    const signed = this.#world.keys.sign(this.key, message);
    const others = this.rules.keys.filter((key) => key !== this.key).slice(0, most);
    for (const to of others) this.#world.send(this.key, to, { kind: 'signed', signed });
  }
}
