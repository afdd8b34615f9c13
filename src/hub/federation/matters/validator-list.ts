import { isSigningKey } from '../../../coin/signing-key.ts';

/** Change of the list of validators, as a hub wants it. */
export interface ListChange {
  /** Ed25519, 64 hex digits in small letters. */
  readonly pubkey: string;
  /** `host:port`, or a WebSocket URL; null: the validator is taken out. */
  readonly addr: string | null;
}

/** A hub's word about a validator, until enough hubs say the same. */
export interface Approval extends ListChange {
  readonly hub: string;
}

/** Changes of one operation. */
export const MOST_CHANGES = 1_000;
/** Changes of one hub that wait for other hubs. */
export const MOST_WAITING = 1_000;
/** Validators of the list. */
export const MOST_LISTED = 1_000;

const ADDRESS = /^(?:wss?:\/\/)?(?:\[[0-9A-Fa-f:]{2,45}\]|[A-Za-z0-9._-]{1,200}):(\d{1,5})$/;
const HIGHEST_PORT = 65_535;

/** Returns the body of an operation that changes the list. */
export function listBodyOf(validators: readonly ListChange[]): string {
  return JSON.stringify({ validators });
}

/** Returns the changes that an operation asks for, each of another key; null for a body of another form. */
export function readListChanges(body: string): readonly ListChange[] | null {
  // The name stands first in what a hub writes: bodies of other kinds, which are long, are not parsed.
  if (!body.startsWith('{"validators":')) return null;
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    return null;
  }
  const { validators, ...others } = Object(read) as { validators?: unknown };
  if (!Array.isArray(validators) || Object.keys(others).length > 0) return null;
  if (validators.length === 0 || validators.length > MOST_CHANGES || !validators.every(isChange)) return null;
  return new Set(validators.map(({ pubkey }) => pubkey)).size === validators.length ? validators : null;
}

function isChange(value: unknown): value is ListChange {
  // A long text would be taken apart letter by letter.
  if (typeof value !== 'object') return false;
  const { pubkey, addr, ...others } = Object(value) as Readonly<Record<string, unknown>>;
  if (Object.keys(others).length > 0 || typeof pubkey !== 'string' || pubkey !== pubkey.toLowerCase()) return false;
  return isSigningKey(pubkey) && (addr === null || isAddress(addr));
}

function isAddress(value: unknown): boolean {
  const [, port] = (typeof value === 'string' && ADDRESS.exec(value)) || [];
  return port !== undefined && Number(port) <= HIGHEST_PORT;
}

/**
 * Returns whether a change is made: more hubs than may lie want the same. So one that lies lists nobody, and takes nobody out.
 *
 * @param approvals  about one key, one of each hub, this change's included
 */
export function isApproved(faulty: number, { pubkey, addr }: ListChange, approvals: readonly Approval[]): boolean {
  const same = approvals.filter((one) => one.pubkey === pubkey && one.addr === addr);
  return new Set(same.map(({ hub }) => hub)).size > faulty;
}
