import { createHash } from 'node:crypto';
import { canonicalJson } from '../../src/consensus/canonical-json.ts';
import { byzantineQuorum, pbftQuorum } from '../../src/consensus/pbft-quorum.ts';
import type { Batch, Message, Operation, Signed } from '../../src/hub/federation/consensus/messages.ts';
import type { Rules } from '../../src/hub/federation/consensus/rules.ts';

/** Keys of a set of hubs, and signatures that only the holder of a key can make. */
export class Keys {
  readonly keys: readonly string[];
  readonly #genuine = new WeakSet<Signed<Message>>();
  readonly #submitted = new WeakSet<Operation>();
  readonly #digests = new WeakMap<Batch, string>();
  readonly #quorum: number;

  constructor(count: number, rule: 'specified' | 'byzantine' = 'byzantine') {
    this.keys = Array.from({ length: count }, (_, place) => String.fromCharCode(97 + place));
    this.#quorum = rule === 'specified' ? pbftQuorum(count) : byzantineQuorum(count);
  }

  sign<M extends Message>(sender: string, message: M): Signed<M> {
    const signed = { sender, message, sig: '' };
    this.#genuine.add(signed);
    return signed;
  }

  submit(submitter: string, number: number, body: string): Operation {
    const operation = { submitter, number, body, sig: '' };
    this.#submitted.add(operation);
    return operation;
  }

  /** A signature that nobody made. */
  forge<M extends Message>(sender: string, message: M): Signed<M> {
    return { sender, message, sig: 'forged' };
  }

  isSigned(signed: Signed<Message>): boolean {
    return this.#genuine.has(signed);
  }

  digestOf(batch: Batch): string {
    const known = this.#digests.get(batch);
    if (known !== undefined) return known;
    const digest = createHash('sha256').update(canonicalJson(batch)).digest('hex').slice(0, 16);
    this.#digests.set(batch, digest);
    return digest;
  }

  rulesOf(self: string): Rules {
    return {
      self,
      keys: this.keys,
      quorum: this.#quorum,
      faulty: Math.floor((this.keys.length - 1) / 3),
      isSigned: (signed) => this.isSigned(signed),
      digestOf: (batch) => this.digestOf(batch),
      isSubmitted: (operation) =>
        this.#submitted.has(operation) && operation.body.length > 0 && operation.body.length < 1_000
    };
  }
}
