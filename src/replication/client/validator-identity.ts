import { signingKey, signTime } from '../../consensus/auth-signature.ts';
import type { AuthMessage } from '../../wire/validator.ts';

/** This process's identity for its sources; the same in all its threads. */
export interface ValidatorIdentity {
  /** The name of its REST heartbeats in the list. */
  readonly id: string;
  /** 32 bytes in hex. Never logged: its holder can act as this validator. */
  readonly seed: string;
  /** The last second that was signed, shared by all threads: a source believes each signature once. */
  readonly lastSigned: Uint32Array<SharedArrayBuffer>;
}

/** @param id undefined: the public key of the seed */
export function validatorIdentity(seed: string, id?: string): ValidatorIdentity {
  const lastSigned = new Uint32Array(new SharedArrayBuffer(Uint32Array.BYTES_PER_ELEMENT));
  return { id: id ?? signingKey(seed).pubkey, seed, lastSigned };
}

/** Signs an authentication message; no two have the same time. @param server the only server that may accept it, if it can */
export function authMessage({ seed, lastSigned }: ValidatorIdentity, server?: string): AuthMessage {
  const key = signingKey(seed);
  const ts = nextSecond(lastSigned, Math.floor(Date.now() / 1000));
  const bound = server === undefined ? {} : { server };
  return { type: 'auth', pubkey: key.pubkey, sig: signTime(ts, key, server), ts, ...bound };
}

/** A source takes a time that is at most so far from its own. */
const WINDOW_S = 300;

function nextSecond(lastSigned: Uint32Array<SharedArrayBuffer>, now: number): number {
  const last = Atomics.load(lastSigned, 0);
  // A clock that was far ahead and is right again: no source would take a time after that.
  const next = last - now > WINDOW_S / 2 ? now : Math.max(now, last + 1);
  return Atomics.compareExchange(lastSigned, 0, last, next) === last ? next : nextSecond(lastSigned, now);
}
