import { fromPromise } from 'xstate';
import type { ErrorCode, FaultPolicy } from '../../src/errors.ts';

/** Declares an effect for a machine's `actors`. The program that runs the machine must provide it. */
export const effect = <Output, Input = void>(name: string) =>
  fromPromise<Output, Input>(() => Promise.reject(new Error(`the effect ${name} is not provided`)));

/** An error as plain data: replays read recorded errors in this form. */
type Fault = { readonly code?: ErrorCode; readonly policy?: FaultPolicy } | null;

/** Returns whether the fault's policy is among these. Such faults end the actor, and its supervisor acts on them. */
const endsActor = (fault: unknown, policies: readonly FaultPolicy[]): boolean => {
  const policy = (fault as Fault)?.policy;
  return policy !== undefined && policies.includes(policy);
};

/** Returns whether an effect's error ends the actor, because no retry can fix it. */
export const finalError = ({ event }: { event: { error: unknown } }): boolean =>
  endsActor(event.error, ['park', 'exit']);

/** Returns a guard for an effect's error. It bears the name of the code, which the charts show. */
export const hasErrorCode = (code: ErrorCode) =>
  ({ [code]: ({ event }: { event: { error: unknown } }): boolean => (event.error as Fault)?.code === code })[code]!;
