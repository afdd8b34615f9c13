import type { ChainNetwork } from '../../coin/chains.ts';
import type { FormOutput } from '../../coin/raw/transaction-form.ts';
import { isWitnessProgram } from '../../coin/script/pay-scripts.ts';
import { OP_RETURN } from '../../coin/script/script.ts';

/** What decides below which amount nodes refuse an output. */
export interface DustRules extends Pick<ChainNetwork, 'dustRelayRate' | 'dustFloor' | 'softDust'> {
  /** DUST_AMOUNT: satoshis that every output of ours has at least. */
  readonly floor: number;
}

/** Bytes of the output beside its script, and of the input that spends it: a witness costs a quarter. */
const OUTPUT_BYTES = 9;
const INPUT_BYTES = 148;
const WITNESS_INPUT_BYTES = 67;

/** The least satoshis that an output of our own choice holds: no fee is asked for it. */
export function freeAmount(script: Uint8Array, dust: DustRules): bigint {
  const [least, free] = [dustAmount(script, dust), BigInt(dust.softDust)];
  return least === 0n || least > free ? least : free;
}

/** What small outputs cost beside the fee for the transaction's size. */
export function dustFee(outputs: readonly FormOutput[], { softDust }: Pick<DustRules, 'softDust'>): bigint {
  const small = outputs.filter(({ amount, script }) => script[0] !== OP_RETURN && amount < BigInt(softDust));
  return BigInt(small.length) * BigInt(softDust);
}

/** The least satoshis that an output with this script may hold; none for data. */
export function dustAmount(script: Uint8Array, { dustRelayRate, dustFloor, floor }: DustRules): bigint {
  if (script[0] === OP_RETURN) return 0n;
  const sizeBytes = OUTPUT_BYTES + script.length + (isWitnessProgram(script) ? WITNESS_INPUT_BYTES : INPUT_BYTES);
  return BigInt(Math.max(Math.ceil((sizeBytes * dustRelayRate) / 1000), dustFloor, floor));
}
