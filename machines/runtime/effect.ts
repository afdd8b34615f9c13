import { fromPromise } from 'xstate';
import type { ErrorCode, FaultPolicy } from '../../src/errors.ts';

/** An effect by name, for a machine's `actors`; the program that runs the machine provides it. */
export const effect = <Output, Input = void>(name: string) =>
  fromPromise<Output, Input>(() => Promise.reject(new Error(`the effect ${name} is not provided`)));

/** Recorded errors are replayed, so guards read them as the plain data that they are then. */
type Fault = { readonly code?: ErrorCode; readonly policy?: FaultPolicy } | null;

/** Faults by these policies end the actor, which its supervisor then acts on. */
const endsActor = (fault: unknown, policies: readonly FaultPolicy[]): boolean => {
  const policy = (fault as Fault)?.policy;
  return policy !== undefined && policies.includes(policy);
};

/** A guard of an effect's error: no retry mends it, and the actor is to end. */
export const finalError = ({ event }: { event: { error: unknown } }): boolean =>
  endsActor(event.error, ['park', 'exit']);

/** A guard of an effect's error that bears the code's name, which the charts show. */
export const hasErrorCode = (code: ErrorCode) =>
  ({ [code]: ({ event }: { event: { error: unknown } }): boolean => (event.error as Fault)?.code === code })[code]!;
