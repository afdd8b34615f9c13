import type { Effect } from '../../src/hub/federation/consensus/events.ts';
import type { Batch, Message, Prepared, Signed } from '../../src/hub/federation/consensus/messages.ts';
import { MOST_SKEW_MS } from '../../src/hub/federation/consensus/rules.ts';
import { Hub, type Sent, type World } from './hub.ts';

/** What a lying hub does otherwise than the core. */
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
  'replays all'
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

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
    const { random } = this.#world;
    const message = effect.type === 'vote' ? effect.message : null;
    if (effect.type === 'halt') return; // its own affair
    switch (this.#behaviour) {
      case 'equivocates':
        if (message && this.#equivocate(message)) return;
        break;
      case 'withholds votes':
        if (message && (message.kind === 'prepare' || message.kind === 'commit') && random.chance(0.8)) return;
        break;
      case 'forges certificates':
        if (message) this.#forge(message);
        break;
      case 'tells a false time':
        if (message?.kind === 'prePrepare') {
          this.#propose(message, { time: message.batch.time + random.pick([-1, 1, 2]) * 2 * MOST_SKEW_MS });
          return;
        }
        break;
      case 'leads in silence':
        if (message?.kind === 'prePrepare' || message?.kind === 'newView') return;
        break;
      case 'leads half of them':
        if (message?.kind === 'prePrepare') {
          this.#toSome(message, random.between(1, this.rules.quorum - 1));
          return;
        }
        break;
      case 'replays all':
        if (message?.kind === 'prePrepare' && this.disk.log.length > 0) {
          const [old] = random.pick(this.disk.log).batch.operations;
          this.#propose(message, { operations: old ? [old, ...message.batch.operations] : message.batch.operations });
          return;
        }
        break;
      case 'censors':
        if (message?.kind === 'prePrepare') {
          const operations = message.batch.operations.filter(({ submitter }) => submitter !== this.#victim);
          if (operations.length === 0) return;
          this.#propose(message, { operations });
          return;
        }
        break;
      default:
    }
    super.carryOut(effect, life);
  }

  override receive(from: string, sent: Sent): void {
    if (sent.kind === 'signed') {
      if (this.#kept.length < MOST_KEPT) this.#kept.push(sent.signed);
      else this.#kept[this.#world.random.between(0, MOST_KEPT - 1)] = sent.signed;
    }
    super.receive(from, sent);
    this.#disturb();
  }

  override submit(body: string) {
    const operation = super.submit(body);
    if (this.#behaviour === 'splits submissions')
      for (const to of this.rules.keys)
        if (to !== this.key)
          this.#world.send(this.key, to, { kind: 'operation', operation: { ...operation, body: `${body} for ${to}` } });
    return operation;
  }

  override answer(to: string, seq: number): void {
    if (this.#behaviour !== 'hands out wrong logs') {
      super.answer(to, seq);
      return;
    }
    const { log, stable, applied } = this.disk;
    const entries = log
      .filter(({ batch }) => batch.seq >= seq)
      .map(({ batch, votes }) => ({
        batch: { ...batch, operations: [{ submitter: this.key, number: 0, body: 'mine' }] },
        votes
      }));
    this.#world.send(this.key, to, { kind: 'log', entries });
    this.#world.send(this.key, to, {
      kind: 'state',
      stable: { ...stable, seq: stable.seq + 100, state: 'mine', votes: [...stable.votes] },
      applied: { ...applied, seq: stable.seq + 100 },
      tables: 'mine'
    });
  }

  #disturb(): void {
    const { random } = this.#world;
    const some = () => this.#kept[random.between(0, this.#kept.length - 1)];
    if (this.#behaviour === 'repeats old views' || this.#behaviour === 'replays all') {
      if (!random.chance(0.2)) return;
      const old = some();
      if (old) this.toOthers({ kind: 'signed', signed: old });
    }
    if (this.#behaviour === 'floods' && random.chance(0.2)) {
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

  #forge(message: Message): void {
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
      ...{ seq: stable.seq + 1, time: this.#world.now(), previous: stable.digest },
      operations: [{ submitter: this.key, number: 0, body: 'mine' }]
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
    const change = { kind: 'viewChange', view, stable, places: [forged] } as const;
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
