import type { PlatformError } from '../errors.ts';
import type { OperationalData } from '../service/rpc/replies.ts';

/** Reasons by which clients in use know why a transaction cannot be built now. */
const WORDS = {
  TRACKER_UNAVAILABLE: 'UTXO_TRACKER_ERROR',
  TRACKER_BEHIND: 'UTXO_TRACKER_STALE',
  TRACKER_NOT_READY: 'UTXO_TRACKER_NOT_READY',
  TRACKER_HALTED: 'UTXO_TRACKER_HALTED'
} as const;

/**
 * Returns the error data that clients in use read when a transaction cannot be built, amounts in satoshis; undefined
 * for other codes.
 */
export function operationalData({ code, detail }: PlatformError): OperationalData | undefined {
  if (code !== 'COINS_INSUFFICIENT')
    return Object.hasOwn(WORDS, code) ? { reason: WORDS[code as keyof typeof WORDS] } : undefined;
  const { available, required, outputs, fee, reserved } = detail as Partial<
    Record<keyof OperationalData, number | string>
  >;
  if (available === undefined) return { reason: 'INSUFFICIENT_FUNDS' };
  const amounts = { required: required!, available, outputs: outputs!, fee: fee!, reserved: reserved ?? 0 };
  return { reason: available === 0 ? 'NO_UTXOS' : 'INSUFFICIENT_FUNDS', ...amounts };
}
