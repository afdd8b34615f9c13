import type { SigningKey } from '../../src/consensus/auth-signature.ts';
import type {
  Batch,
  Committed,
  Message,
  Operation,
  PrePrepare,
  Prepared,
  Signed
} from '../../src/hub/federation/consensus/messages.ts';
import { leaderOf, MOST_SKEW_MS } from '../../src/hub/federation/consensus/rules.ts';
import type { Envelope } from '../../src/hub/federation/gossip/envelope.ts';
import type { Gossip } from '../../src/hub/federation/gossip/long-messages.ts';
import { digestOf, signMessage, signOperation } from '../../src/hub/federation/gossip/signatures.ts';
import { bodyOf } from '../../src/hub/federation/journal/config-state.ts';
import type { Behaviour } from './liars.ts';
import type { SeededRandom } from './random.ts';

type Data = Readonly<Record<string, unknown>>;

/** Knowledge of a lying hub. */
interface LyingOptions {
  readonly behaviour: Behaviour;
  readonly key: SigningKey;
  /** Id of the set, and of one of which its hubs are no members. */
  readonly set: string;
  readonly otherSet: string;
  /** Keys of the set, in ascending order. */
  readonly keys: readonly string[];
  readonly random: SeededRandom;
}

/** Genuine messages of others that a liar keeps. */
const MOST_KEPT = 300;
const NO_SIGNATURE = '00'.repeat(64);
const NO_DIGEST = 'ab'.repeat(32);
/** Returns the body of a write that nobody submitted. */
const bodyFor = (module: string) => bodyOf([{ coin: 'LTC', network: 'regtest', module, param: 'host', value: 'liar' }]);
const BODY = bodyFor('never-submitted');

/**
 * Speaks for a hub that thinks as an honest one: what it says is changed, dropped or added to by one behaviour. The other hubs hear it over
 * real sockets, with genuine envelopes.
 */
export class LyingGossip implements Gossip {
  readonly #gossip: Gossip;
  readonly #options: LyingOptions;
  readonly #others: readonly string[];
  readonly #kept: Signed<Message>[] = [];
  /** Lies that were sent. */
  lies = 0;

  constructor(gossip: Gossip, options: LyingOptions) {
    this.#gossip = gossip;
    this.#options = options;
    this.#others = options.keys.filter((key) => key !== options.key.pubkey);
  }

  get peers(): readonly string[] {
    return this.#gossip.peers;
  }

  publish(type: string, data: Data): void {
    const { behaviour } = this.#options;
    const { messages, operations } = data as { messages?: readonly Signed<Message>[]; operations?: Operation[] };
    if (messages) for (const signed of messages) this.#say(signed);
    else if (operations && behaviour === 'splits submissions') this.#split(type, data, operations);
    else this.#gossip.publish(type, data);
  }

  sendTo(to: string, type: string, data: Data): void {
    const { behaviour } = this.#options;
    if (behaviour === 'hands out wrong logs' && this.#handOut(to, type, data)) return;
    const { messages } = data as { messages?: readonly Signed<Message>[] };
    const isSilent = behaviour === 'leads in silence' || behaviour === 'equivocates';
    if (isSilent && messages?.some(({ message }) => message.kind === 'newView')) return;
    this.#gossip.sendTo(to, type, data);
  }

  /** Notes what others say, and disturbs them where that is its behaviour. */
  hear({ data }: Envelope): void {
    const { behaviour, random, set, otherSet, key } = this.#options;
    const { messages = [] } = data as { messages?: readonly Signed<Message>[] };
    for (const signed of messages)
      if (this.#kept.length < MOST_KEPT) this.#kept.push(signed);
      else this.#kept[random.between(0, MOST_KEPT - 1)] = signed;
    if (messages.length === 0) return;
    const old = random.pick(this.#kept);
    if (behaviour === 'repeats old views') this.#lie([old]);
    if (behaviour === 'replays across sets') {
      this.#lie([signMessage(otherSet, old.message, key)]);
      this.#gossip.publish('CONSENSUS_MESSAGES', { set: otherSet, messages: [old] });
    }
    if (behaviour === 'writes for others') {
      const submitter = random.pick(this.#others);
      const forged = { submitter, number: random.between(0, 50), body: BODY, sig: NO_SIGNATURE };
      this.#gossip.publish('CONSENSUS_SUBMIT', { set, operations: [forged] });
      this.lies += 1;
    }
    if (behaviour === 'hands out wrong logs' && random.chance(0.1)) {
      // Also to those who did not ask.
      const stable = { seq: 100 * random.between(1, 9), digest: NO_DIGEST, state: NO_DIGEST, votes: [] };
      this.#gossip.publish('STATE_MANIFEST', { set, stable, manifest: 'mine' });
      this.lies += 1;
    }
    if (behaviour === 'floods')
      this.#lie(
        Array.from({ length: 20 }, () => {
          const [view, seq] = [random.between(0, 5), random.between(0, 1_000)];
          const kind = random.pick(['prepare', 'commit'] as const);
          return this.#sign({ kind, view, seq, digest: NO_DIGEST });
        })
      );
  }

  /** Says one of its messages, or what its behaviour makes of it. */
  #say(signed: Signed<Message>): void {
    const { behaviour, random } = this.#options;
    const { message } = signed;
    const isVote = message.kind === 'prepare' || message.kind === 'commit';
    switch (behaviour) {
      case 'withholds votes':
        if (!isVote || random.chance(0.2)) break;
        this.lies += 1;
        return;
      case 'forges certificates':
        this.#forge(message);
        break;
      case 'leads in silence':
        if (message.kind !== 'prePrepare' && message.kind !== 'newView') break;
        this.lies += 1;
        return;
      default:
    }
    if (message.kind === 'prePrepare' && this.#proposeOtherwise(signed as Signed<PrePrepare>)) return;
    if (behaviour === 'equivocates' && isVote && random.chance(0.3))
      this.#lie([this.#sign({ ...message, digest: NO_DIGEST })]);
    if (behaviour === 'equivocates' && message.kind === 'checkpoint')
      this.#lie([this.#sign({ ...message, state: NO_DIGEST })]);
    this.#gossip.publish('CONSENSUS_MESSAGES', { set: this.#options.set, messages: [signed] });
  }

  /** Proposes otherwise than an honest leader. @returns whether the honest proposal is left out */
  #proposeOtherwise(signed: Signed<PrePrepare>): boolean {
    const { behaviour, random, key, set } = this.#options;
    const { batch } = signed.message;
    switch (behaviour) {
      case 'equivocates': {
        const versions = [signed, this.#propose(signed.message, { time: batch.time + 1 })];
        for (const to of this.#others) this.#sendTo(to, [random.pick(versions)]);
        this.#lie(
          versions.map(({ message: { view, seq, digest } }) => this.#sign({ kind: 'prepare', view, seq, digest }))
        );
        return true;
      }
      case 'leads half of them':
        for (const to of this.#others.slice(0, 1)) this.#sendTo(to, [signed]);
        this.lies += 1;
        return true;
      case 'tells a false time':
        this.#lie([
          this.#propose(signed.message, { time: batch.time + random.pick([-1, 1, 2]) * (MOST_SKEW_MS + 5_000) })
        ]);
        return true;
      case 'censors': {
        const victim = this.#others[0];
        const operations = batch.operations.filter(({ submitter }) => submitter !== victim);
        if (operations.length === batch.operations.length) return false;
        this.lies += 1;
        if (operations.length > 0) this.#lie([this.#propose(signed.message, { operations })]);
        return true;
      }
      case 'writes for others': {
        const forged = { submitter: this.#others[0]!, number: 0, body: BODY, sig: NO_SIGNATURE };
        this.#lie([this.#propose(signed.message, { operations: [forged] })]);
        return true;
      }
      case 'splits submissions': {
        const operations = [signOperation(set, batch.operations[0]!.number, BODY, key), ...batch.operations];
        this.#lie([this.#propose(signed.message, { operations })]);
        return true;
      }
      default:
        return false;
    }
  }

  /** Tells each hub another operation of the same number. */
  #split(type: string, data: Data, operations: readonly Operation[]): void {
    const { set, key } = this.#options;
    for (const to of this.#others)
      for (const { number } of operations) {
        const body = bodyFor(`for-${to.slice(0, 4)}`);
        this.#gossip.sendTo(to, type, { ...data, operations: [signOperation(set, number, body, key)] });
        this.lies += 1;
      }
  }

  /** Hands out a log, a state or a part of one that nobody has. @returns whether it has */
  #handOut(to: string, type: string, data: Data): boolean {
    const { entries, stable, hash } = data as { entries?: readonly Committed[]; stable?: object; hash?: string };
    const changed =
      type === 'STATE_LOG' && entries
        ? { entries: entries.map(({ batch, votes }) => ({ batch: { ...batch, time: batch.time + 1 }, votes })) }
        : type === 'STATE_MANIFEST' && stable
          ? { manifest: `${data['manifest']} ` }
          : type === 'STATE_CHUNK' && hash
            ? { text: 'mine\n' }
            : null;
    if (changed === null) return false;
    this.#gossip.sendTo(to, type, { ...data, ...changed });
    this.lies += 1;
    return true;
  }

  /** Says that all others voted for what nobody proposed, and proves a view by it. */
  #forge(message: Message): void {
    const { keys } = this.#options;
    if (message.kind === 'prepare' || message.kind === 'commit')
      this.#lie(keys.map((sender) => ({ sender, message: { ...message, digest: NO_DIGEST }, sig: NO_SIGNATURE })));
    if (!('view' in message) || !('seq' in message)) return;
    const batch: Batch = { seq: 1, time: Date.now(), previous: '', operations: [] };
    const digest = digestOf(batch);
    const leader = leaderOf({ keys }, message.view);
    const proposal = { kind: 'prePrepare', view: message.view, seq: 1, digest, batch } as const;
    const forged: Prepared = {
      proposal: { sender: leader, message: proposal, sig: NO_SIGNATURE },
      votes: keys.map((sender) => ({
        sender,
        message: { kind: 'prepare', view: message.view, seq: 1, digest },
        sig: NO_SIGNATURE
      }))
    };
    const view = message.view + 1;
    const stable = { seq: 0, digest: '', state: '', votes: [] };
    this.#lie([this.#sign({ kind: 'viewChange', view, stable, last: null, places: [forged] })]);
  }

  #propose(message: PrePrepare, changed: Partial<Batch>): Signed<PrePrepare> {
    const batch = { ...message.batch, ...changed };
    return this.#sign({ ...message, batch, digest: digestOf(batch) });
  }

  #sign<M extends Message>(message: M): Signed<M> {
    return signMessage(this.#options.set, message, this.#options.key);
  }

  #lie(messages: readonly Signed<Message>[]): void {
    this.lies += messages.length;
    this.#gossip.publish('CONSENSUS_MESSAGES', { set: this.#options.set, messages });
  }

  #sendTo(to: string, messages: readonly Signed<Message>[]): void {
    this.lies += 1;
    this.#gossip.sendTo(to, 'CONSENSUS_MESSAGES', { set: this.#options.set, messages });
  }
}
