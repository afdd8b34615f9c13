import { hasCode } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { blockText } from '../../../wire/data/database.ts';
import { type Applied, Heartbeats } from '../../client/heartbeats.ts';
import type { BlockName } from '../../client/source-client.ts';
import { Subscription } from '../../client/subscription.ts';
import type { ReplicaActorData } from '../../protocol.ts';
import type { SourceSet } from './source-set.ts';
import type { ReplicaStore } from './store.ts';

/** Milliseconds without an answer, not even to a ping, after which a source is reported. */
const SILENT_MS = 6_000;

interface LiveStreamOptions {
  readonly data: Pick<ReplicaActorData, 'validator'>;
  readonly log: Logger;
  readonly sources: SourceSet;
  readonly store: ReplicaStore;
  /** Called when a message has come. */
  readonly changed: () => void;
}

/** The live stream of the followed source, which also carries the replica's heartbeats to it. */
export class LiveStream {
  readonly #options: LiveStreamOptions;
  readonly #heartbeats: Heartbeats | null;
  #subscription: Subscription | undefined;
  /** The source with which the replica was live last; null: there was none since a stream was opened. */
  #liveWith: string | null = null;

  constructor(options: LiveStreamOptions) {
    this.#options = options;
    const { data, log, sources } = options;
    const { validator: identity } = data;
    this.#heartbeats = identity
      ? new Heartbeats({
          identity,
          applied: () => this.#applied,
          stream: () => this.#subscription,
          source: () => sources.client,
          onFault: (fault) => log.debug({ err: fault }, 'the source refused the heartbeat')
        })
      : null;
  }

  /** Returns the stream; opens one when there is none, behind the replica's block where this source has sent that block. */
  async subscription(): Promise<Subscription> {
    if (!this.#subscription) {
      this.#subscription = await this.#open();
      this.#subscription.onArrival = this.#options.changed;
      this.#heartbeats?.tick();
    }
    return this.#subscription;
  }

  /** Notes that the replica is live with the followed source: later messages continue what it has. */
  noteLive(): void {
    this.#liveWith = this.#options.sources.client.url;
  }

  /** Returns whether the stream brings all that followed the replica's block; asked again, it does not. */
  takeResumed(): boolean {
    if (!this.#subscription?.isResumed) return false;
    this.#subscription.isResumed = false;
    return true;
  }

  /** Whether the followed source, when the stream is opened, is asked for what followed the replica's block. */
  get mayResume(): boolean {
    return this.#liveWith === this.#options.sources.client.url && this.canResume;
  }

  /** Whether only messages that followed the replica's block can be missing in it. */
  get canResume(): boolean {
    return this.#resumeBlock !== undefined;
  }

  /** The newest block received, waiting messages included; null: none. */
  get newest(): number | null {
    return this.#subscription?.newest ?? null;
  }

  /** The time for which nothing was heard of the source, or of its MariaDB; null: both are heard, or there is no stream. */
  get silence(): { readonly seconds: number; readonly reason: string } | null {
    const { url } = this.#options.sources.client;
    const { silentMs = 0, databaseSilentMs = 0 } = this.#subscription ?? {};
    const { seconds, reason } =
      silentMs >= SILENT_MS
        ? { seconds: silentMs / 1_000, reason: `${url} has answered nothing` }
        : { seconds: databaseSilentMs / 1_000, reason: `the MariaDB of ${url} has answered nothing` };
    if (seconds === 0) return null;
    const rounded = Math.max(1, Math.round(seconds));
    return {
      seconds: rounded,
      reason: `${reason} for ${rounded} s: newer blocks may be there; see to it at the source`
    };
  }

  /** @throws {PlatformError} SOURCE_UNREACHABLE when it was open and is gone */
  throwIfCut(): void {
    if (this.#subscription?.fault) throw this.#subscription.fault;
  }

  /** Closes the stream. The next call of `subscription` opens another one. */
  drop(): void {
    this.#subscription?.close();
    this.#subscription = undefined;
  }

  close(): void {
    this.#heartbeats?.close();
    this.#subscription?.close();
  }

  async #open(): Promise<Subscription> {
    const { client } = this.#options.sources;
    const after = this.mayResume ? this.#resumeBlock : undefined;
    // A source that refuses the place is not asked for it again, nor one after another, whose rows the replica may have taken.
    this.#liveWith = null;
    if (after) {
      const resumed = await Subscription.open(client, after).catch((caught: unknown) => {
        if (!isRefusal(caught)) this.#liveWith = client.url; // it has not said anything yet
        throw caught;
      });
      await resumed.learned(new AbortController().signal); // it waits for a moment only
      if (resumed.isResumed || resumed.hasBegun) return resumed;
      resumed.close();
    }
    return Subscription.open(client);
  }

  /** The replica's block, if only messages that followed it can be missing; else undefined. */
  get #resumeBlock(): BlockName | undefined {
    const { knownState: state, toldFork, isTorn, contradicted } = this.#options.store;
    if (!state || state.height === null || state.hashes === null) return undefined;
    const mayLack = toldFork !== null || isTorn || contradicted || state.misses || state.phase !== 'following';
    if (mayLack || !(state.complete || state.amendments !== null)) return undefined;
    const text = blockText(state.hashes);
    return text === null ? undefined : { height: state.height, text };
  }

  /** Progress that heartbeats report; null before there is a replica. */
  get #applied(): Applied | null {
    const { knownState: state } = this.#options.store;
    if (state?.height == null || state.phase === 'bootstrapping') return null;
    return { height: state.height, blockTime: state.blockTime };
  }
}

/** Returns whether a source answered that it does not take the request, now or later. */
function isRefusal(caught: unknown): boolean {
  const status = hasCode(caught, 'SOURCE_REFUSED') ? Number(caught.detail['status']) : 0;
  return status >= 400 && status < 500 && status !== 429;
}
