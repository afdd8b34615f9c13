import { isTimeSigned } from '../consensus/auth-signature.ts';
import type { AuthMessage } from '../wire/validator.ts';

/** How far a signed time may be from this server's clock, in seconds. */
const WINDOW_S = 300;
/** Signatures remembered at once; while so many are, no further one is believed. */
const MAX_REMEMBERED = 20_000;

/**
 * Tells validators from other subscribers: by a fresh Ed25519 signature, each believed once.
 *
 * @see the specification, "Authentication"
 */
export class ValidatorAuth {
  readonly #accepted: ReadonlySet<string> | null;
  /** Signatures seen, and until when (in seconds) their time stays within the window; oldest first. */
  readonly #seen = new Map<string, number>();

  /** @param pubkeys VALIDATOR_PUBKEYS in lower-case hex; undefined: any valid key */
  constructor(pubkeys: readonly string[] | undefined) {
    this.#accepted = pubkeys ? new Set(pubkeys) : null;
  }

  /** @returns the validator's public key; null for a message that is to be ignored */
  identify({ pubkey, sig, ts }: AuthMessage, nowMs = Date.now()): string | null {
    const key = pubkey.toLowerCase();
    const now = nowMs / 1000;
    const signature = `${key}:${ts}`;
    if (this.#accepted?.has(key) === false || Math.abs(now - ts) > WINDOW_S) return null;
    this.#forgetBefore(now);
    if (this.#seen.has(signature) || this.#seen.size >= MAX_REMEMBERED) return null;
    if (!isTimeSigned(ts, { pubkey, sig })) return null;
    this.#seen.set(signature, now + 2 * WINDOW_S);
    return key;
  }

  /** A time is at most one window ahead when it is seen, so after two it is refused for its age. */
  #forgetBefore(now: number): void {
    for (const [signature, until] of this.#seen) {
      if (until >= now) return;
      this.#seen.delete(signature);
    }
  }
}
