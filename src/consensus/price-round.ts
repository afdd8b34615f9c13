import { isSigned } from './ed25519.ts';
import type { Signature } from './quorum.ts';

/** Prices on which validators agreed. */
export interface PriceRound {
  readonly round: number;
  /** Epoch seconds. */
  readonly timestamp: number;
  readonly btc_block_height: number;
  readonly pairs: readonly { readonly pair: string; readonly price: string }[];
}

/**
 * Returns the validators that signed a round, among the given ones. The signed bytes are its JSON with the keys in this
 * order: round, timestamp, btc_block_height, pairs by name, each as pair and price.
 *
 * @param validators Ed25519 keys, 64 lower-case hex digits each
 */
export function signersOf(
  { round, timestamp, btc_block_height, pairs }: PriceRound,
  sigs: readonly Signature[],
  validators: readonly string[]
): string[] {
  const sorted = pairs
    .map(({ pair, price }) => ({ pair, price }))
    .sort((a, b) => (a.pair < b.pair ? -1 : Number(a.pair > b.pair)));
  const message = new TextEncoder().encode(JSON.stringify({ round, timestamp, btc_block_height, pairs: sorted }));
  const given = new Map(sigs.map(({ pubkey, sig }) => [pubkey.toLowerCase(), sig]));
  return validators.filter((pubkey) => isSigned(message, pubkey, given.get(pubkey)));
}
