import { isTimeSigned } from '../../consensus/auth-signature.ts';
import type { AuthMessage } from '../../wire/validator.ts';
import { SharedList } from './shared-list.ts';

/** Largest difference between a signed time and this server's clock, in seconds. */
const WINDOW_S = 300;
/** The most signatures, and keys, of strangers remembered at once; addresses share them. */
const MAX_REMEMBERED = 20_000;

/**
 * Tells validators from other subscribers: by a fresh Ed25519 signature, each believed once. One that names its server holds at no
 * other; a key that has named it is not believed any more when it does not, for such a signature may be another server's to repeat.
 *
 * @see the specification, "Authentication"
 */
export class ValidatorAuth {
  readonly #accepted: ReadonlySet<string> | null;
  /** Signatures seen, and until when (in seconds) their time stays within the window; oldest first. */
  readonly #seen: SharedList<number>;
  readonly #binds: SharedList<true>;

  /** @param pubkeys VALIDATOR_PUBKEYS in lower-case hex; undefined: any valid key */
  constructor(pubkeys: readonly string[] | undefined, most = MAX_REMEMBERED) {
    this.#seen = new SharedList(most);
    this.#binds = new SharedList(most);
    this.#accepted = pubkeys ? new Set(pubkeys) : null;
  }

  /**
   * @param hosts this server's names
   * @param address who sends it, as its requests are counted
   * @returns the validator's public key; null for a message that is to be ignored
   */
  identify(message: AuthMessage, nowMs = Date.now(), hosts: readonly string[] = [], address = ''): string | null {
    const { pubkey, ts, server } = message;
    const key = pubkey.toLowerCase();
    const now = nowMs / 1000;
    const signature = `${key}:${ts}`;
    if (this.#accepted?.has(key) === false || Math.abs(now - ts) > WINDOW_S) return null;
    if (server === undefined ? this.#binds.get(key) : !hosts.includes(server.toLowerCase())) return null;
    this.#forgetBefore(now);
    if (this.#seen.get(signature) !== undefined) return null;
    if (!isTimeSigned(ts, message)) return null;
    const from = this.#accepted ? undefined : address;
    if (!this.#seen.add(signature, now + 2 * WINDOW_S, from)) return null;
    if (server !== undefined && !this.#binds.get(key)) this.#binds.add(key, true, from);
    return key;
  }

  /** Forgets old signatures. A time is at most one window ahead when it is seen, so after two it is refused for its age. */
  #forgetBefore(now: number): void {
    for (const [signature, until] of this.#seen) {
      if (until >= now) return;
      this.#seen.delete(signature);
    }
  }
}
