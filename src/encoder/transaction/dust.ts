import type { ChainNetwork } from '../../coin/chains.ts';
import type { FormOutput } from '../../coin/raw/transaction-form.ts';
import { isWitnessProgram } from '../../coin/script/pay-scripts.ts';
import { OP_RETURN } from '../../coin/script/script.ts';

/** Rules that set the least amount of an output. */
export interface DustRules extends Pick<ChainNetwork, 'dustRelayRate' | 'dustFloor' | 'softDust'> {
  /** DUST_AMOUNT: least satoshis of every output that the encoder makes. */
  readonly floor: number;
}

/** Bytes of an output without its script. */
const OUTPUT_BYTES = 9;
/** Bytes of the input that will spend it. A witness counts a quarter. */
const INPUT_BYTES = 148;
const WITNESS_INPUT_BYTES = 67;

/** Returns the least satoshis of an output whose amount the encoder chooses: enough that it costs no extra fee. */
export function freeAmount(script: Uint8Array, dust: DustRules): bigint {
  const [least, free] = [dustAmount(script, dust), BigInt(dust.softDust)];
  return least === 0n || least > free ? least : free;
}

/** Returns the extra fee for small outputs, in satoshis. */
export function dustFee(outputs: readonly FormOutput[], { softDust }: Pick<DustRules, 'softDust'>): bigint {
  const small = outputs.filter(({ amount, script }) => script[0] !== OP_RETURN && amount < BigInt(softDust));
  return BigInt(small.length) * BigInt(softDust);
}

/** Returns the least satoshis of an output with this script; 0 for data. */
export function dustAmount(script: Uint8Array, { dustRelayRate, dustFloor, floor }: DustRules): bigint {
  if (script[0] === OP_RETURN) return 0n;
  const sizeBytes = OUTPUT_BYTES + script.length + (isWitnessProgram(script) ? WITNESS_INPUT_BYTES : INPUT_BYTES);
  return BigInt(Math.max(Math.ceil((sizeBytes * dustRelayRate) / 1000), dustFloor, floor));
}
