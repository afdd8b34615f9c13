import type { FormOutput } from '../../../src/coin/raw/transaction-form.ts';

const OP_RETURN = 0x6a;
/** Koinu per 1000 bytes that a node relays by default. @see DEFAULT_MIN_RELAY_TX_FEE, src/validation.h */
const RELAY_RATE = 100_000n;
/** Koinu per 1000 bytes that a miner takes by default. @see DEFAULT_BLOCK_MIN_TX_FEE, src/policy/policy.h */
const MINED_RATE = 1_000_000n;
/** @see DEFAULT_DUST_LIMIT and DEFAULT_HARD_DUST_LIMIT, src/policy/policy.h */
const SOFT_LIMIT = 1_000_000n;
const HARD_LIMIT = 100_000n;

const isDust = ({ amount, script }: FormOutput, limit: bigint) => script[0] !== OP_RETURN && amount < limit;

/**
 * A double of what dogecoind 1.14.9 asks of a transaction, which no test machine has: `GetDogecoinMinRelayFee` and
 * `GetDogecoinDustFee` of src/dogecoin-fees.cpp, the dust check of `IsStandardTx`, and the rate of `BlockAssembler`.
 *
 * @returns why peers do not relay it, or miners do not take it; undefined when they do
 */
export function dogecoinRefusal(sizeBytes: number, outputs: readonly FormOutput[], fee: bigint): string | undefined {
  if (outputs.some((output) => isDust(output, HARD_LIMIT))) return 'dust';
  const small = outputs.filter((output) => isDust(output, SOFT_LIMIT)).length;
  const relayFee = (RELAY_RATE * BigInt(sizeBytes)) / 1000n + BigInt(small) * SOFT_LIMIT;
  if (fee < relayFee) return `min relay fee not met, ${fee} < ${relayFee}`;
  const minedFee = (MINED_RATE * BigInt(sizeBytes)) / 1000n;
  return fee < minedFee ? `miners ask ${minedFee}, not ${fee}` : undefined;
}
