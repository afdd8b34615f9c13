import { asBuffer } from '../../src/tracker/coins/records.ts';
import { type ReducedChanges, reduceChanges } from '../../src/tracker/coins/reduce.ts';

/** Reduces the changes of many blocks to their net effect. */
export default function reduceTask({ made, spent, scripts }: Readonly<Record<keyof ReducedChanges, Uint8Array>>) {
  return reduceChanges({ made: asBuffer(made), spent: asBuffer(spent), scripts: asBuffer(scripts) });
}
