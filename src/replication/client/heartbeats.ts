import type { HeartbeatBody, HeartbeatMessage } from '../../wire/validator.ts';
import type { SourceClient } from './source-client.ts';
import type { Subscription } from './subscription.ts';
import { authMessage, type ValidatorIdentity } from './validator-identity.ts';

const TICK_MS = 1_000;
/** Send after this many blocks, for fewer after a while, and for none from time to time, before the entry expires. */
const BLOCKS = 10;
const CHANGED_MS = 5_000;
const IDLE_MS = 30_000;
const POST_LIMIT_MS = 5_000;

/** Progress of a replica. */
export interface Applied {
  readonly height: number;
  readonly blockTime: number | null;
}

interface HeartbeatOptions {
  readonly identity: ValidatorIdentity;
  /** Null while there is nothing to tell. */
  readonly applied: () => Applied | null;
  /** The live stream; undefined while it is down. */
  readonly stream: () => Subscription | undefined;
  readonly source: () => Pick<SourceClient, 'heartbeat'>;
  /** A heartbeat by REST failed; the next one is sent when it is due. */
  readonly onFault: (fault: unknown) => void;
}

/** Sends the replica's height to the source, at most once a second: by the live stream, or by REST while that is down. */
export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #stopping = new AbortController();
  /** The stream on which this client authenticated, and the one that got its height. */
  #greeted: Subscription | undefined;
  #informed: Subscription | undefined;
  #reported: number | null = null;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #isPosting = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** Sends what is due; call it also when a stream has just opened. */
  tick(now = performance.now()): void {
    const { applied, stream, identity } = this.#options;
    const open = stream();
    if (open && open !== this.#greeted && open.send(authMessage(identity, open.serverName))) this.#greeted = open;
    const reached = applied();
    if (!reached || !this.#isDue(reached.height, open, now - this.#reportedAt)) return;
    const message: HeartbeatMessage = { type: 'heartbeat', appliedBlock: reached.height };
    if (open?.send(message)) this.#informed = open;
    else void this.#post(reached);
    this.#reported = reached.height;
    this.#reportedAt = now;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stopping.abort();
  }

  #isDue(height: number, open: Subscription | undefined, quietMs: number): boolean {
    if (quietMs < TICK_MS) return false;
    const blocks = this.#reported === null ? BLOCKS : Math.abs(height - this.#reported);
    const isNewStream = open !== undefined && open !== this.#informed;
    return isNewStream || blocks >= BLOCKS || (blocks > 0 && quietMs >= CHANGED_MS) || quietMs >= IDLE_MS;
  }

  async #post({ height, blockTime }: Applied): Promise<void> {
    if (this.#isPosting) return;
    this.#isPosting = true;
    const { identity, source, onFault } = this.#options;
    const body: HeartbeatBody = { validator_id: identity.id, applied_height: height, applied_block_time: blockTime };
    const limit = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(POST_LIMIT_MS)]);
    await source()
      .heartbeat(body, limit)
      .catch((caught: unknown) => {
        if (!this.#stopping.signal.aborted) onFault(caught);
      });
    this.#isPosting = false;
  }
}
