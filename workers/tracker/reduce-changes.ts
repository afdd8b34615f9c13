import { type ReducedChanges, receivedChanges, reduceChanges } from '../../src/tracker/coins/reduce.ts';

/** Reduces the changes of many blocks to their net effect. */
export default function reduceTask(changes: Readonly<Record<keyof ReducedChanges, Uint8Array>>) {
  return reduceChanges(receivedChanges(changes));
}
