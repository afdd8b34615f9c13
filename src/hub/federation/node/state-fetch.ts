import { isStable } from '../consensus/certificates.ts';
import type { Stable } from '../consensus/messages.ts';
import type { Rules } from '../consensus/rules.ts';
import type { Applied } from '../consensus/state.ts';
import type { Journal } from '../journal/journal.ts';
import { hashOf, readManifest } from '../transfer/manifest.ts';
import {
  mayBegin,
  NOTHING_FETCHED,
  type Offer,
  stepTransfer,
  type TransferEvent,
  type TransferState
} from '../transfer/transfer.ts';

/** Dependencies of a hub that fetches the state of a checkpoint. */
interface StateFetchOptions {
  readonly journal: Pick<Journal, 'missingChunks' | 'keepChunk' | 'replaceState'>;
  readonly rules: Rules;
  /** Asks a hub for a part. */
  readonly ask: (to: string, hash: string) => void;
  /** Takes a hub that sent what no honest hub sends, and what that was. */
  readonly onFalse: (from: string, what: string) => void;
  /** Queues a write to the database; writes run one after the other. */
  readonly write: (work: () => Promise<void>) => void;
  /** Returns the last place that is applied, and whether a batch is on its way into the database. */
  readonly position: () => { readonly seq: number; readonly isApplying: boolean };
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Takes the state that replaced the tables. */
  readonly onReplaced: (stable: Stable, applied: Applied) => Promise<void>;
}

/** Fetches the state of a checkpoint that other hubs have, and replaces the tables by it. */
export class StateFetch {
  readonly #options: StateFetchOptions;
  #state: TransferState = NOTHING_FETCHED;

  constructor(options: StateFetchOptions) {
    this.#options = options;
  }

  /** Whether parts are on their way. */
  get isFetching(): boolean {
    return this.#state.transfer !== null;
  }

  /** Hashes of the parts of the state that is on its way, those that are here included. */
  get parts(): readonly string[] {
    return this.#state.transfer?.offer.manifest.chunks ?? [];
  }

  /** Takes an offer. It fetches only a state that a quorum signed and that is further than this hub. */
  offer(from: string, stable: Stable, text: string): void {
    const { rules, journal, write, position, onFalse, now } = this.#options;
    const present = { ...this.#state, now: Math.max(this.#state.now, now()) };
    if (!mayBegin(present, from, stable.seq) || stable.seq <= position().seq) return;
    const manifest = hashOf(text) === stable.state ? readManifest(text) : null;
    if (!manifest || !isStable(rules, stable)) {
      onFalse(from, `a state at ${stable.seq} that no quorum has signed`);
      return;
    }
    write(async () => {
      const missing = await journal.missingChunks(manifest);
      this.take({ type: 'state.offered', from, offer: { stable, manifest, text }, missing });
    });
  }

  take(event: TransferEvent): void {
    const { ask, write, journal, onFalse, now } = this.#options;
    if (event.type === 'chunk.received' && event.text !== null && hashOf(event.text) !== event.hash)
      onFalse(event.from, 'a part of a state with another hash');
    // Parts come between two looks at the clock, which may be as far apart as a part may take.
    const present = { ...this.#state, now: Math.max(this.#state.now, now()) };
    const { state, effects } = stepTransfer(present, event);
    this.#state = state;
    for (const effect of effects) {
      if (effect.type === 'askChunk') ask(effect.to, effect.hash);
      else if (effect.type === 'keepChunk') write(() => journal.keepChunk(effect.hash, effect.text));
      else write(() => this.#replace(effect.offer));
    }
  }

  /**
   * Replaces the tables by an offered state. A hub that applies batches has no use for an older one; if it still lags
   * it is offered another.
   */
  async #replace(offer: Offer): Promise<void> {
    const { journal, position, onReplaced } = this.#options;
    const { seq, isApplying } = position();
    if (isApplying || seq >= offer.stable.seq || (await journal.missingChunks(offer.manifest)).length > 0) return;
    await onReplaced(offer.stable, await journal.replaceState(offer));
  }
}
