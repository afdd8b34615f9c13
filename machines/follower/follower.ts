/** Limits of a machine that follows a chain of blocks. */
export interface FollowerInput {
  /** Deepest rollback without an operator's permission, in blocks. */
  readonly maxRollbackDepth: number;
  /** Pause before a lost database is opened again, in milliseconds. */
  readonly reconnectDelayMs: number;
}

/** Context of a machine that follows a chain of blocks. */
export interface FollowerContext extends FollowerInput {
  /** Fault that ended the last effect; null if no effect failed for good. */
  readonly fault: unknown;
}

/** State of the halt in the opened databases. */
export interface Opened {
  readonly isHalted: boolean;
}

/** Depth of a fork, and whether an operator allows a rollback of any depth. */
export interface ForkDepth {
  readonly depth: number;
  readonly isAllowed: boolean;
}

/** The event that stops it, in every state. */
export type FollowerEvent = { readonly type: 'stop.requested' };

/** Pause before a statement is tried again that the database refuses for its content, in milliseconds. */
const REFUSAL_DELAY_MS = 10_000;

/** Pauses of the states that `FOLLOWER_STATES` names. */
export const FOLLOWER_DELAYS = {
  reconnectDelay: ({ context }: { context: FollowerInput }) => context.reconnectDelayMs,
  refusalDelay: REFUSAL_DELAY_MS
} as const;

/** States of every follower around those that tell how it reads and writes blocks. */
export const FOLLOWER_STATES = {
  reconnecting: { after: { reconnectDelay: 'connecting' } },
  /** The database refuses a statement for its content: somebody has to change it meanwhile. */
  refusedByDatabase: { after: { refusalDelay: 'connecting' } },
  stopping: { invoke: { id: 'close', src: 'close', onDone: 'stopped', onError: 'stopped' } },
  stopped: { type: 'final' },
  failed: { type: 'final' }
} as const;

/** Returns whether the opened database has a halt that stands. */
export const isHalted = ({ event }: { event: { output: Opened } }): boolean => event.output.isHalted;

/** Returns whether the found fork is deeper than a rollback without an operator's permission may be. */
export const isTooDeep = ({ context, event }: { context: FollowerInput; event: { output: unknown } }): boolean => {
  const { depth, isAllowed } = Object(event.output) as Partial<ForkDepth>;
  return depth !== undefined && depth > context.maxRollbackDepth && !isAllowed;
};

/** Returns a guard for a look at the followed chain. It bears the name of the result, which the charts show. */
export const isFound = <Found extends string>(result: Found) =>
  ({ [result]: ({ event }: { event: { output: unknown } }): boolean => event.output === result })[result]!;

/** Returns the error of an effect that failed. */
export const faultOf = ({ event }: { event: unknown }): unknown => (event as { error: unknown }).error;
