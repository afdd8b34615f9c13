import { remedyOf } from './halts.ts';
import { boundReason, NEAR_BLOCKS, type PipelineNode, type PipelineState } from './pipeline.ts';
import type { Circuit, Halt } from './report.ts';

/** The fields of an actor that its condition depends on. */
export interface ConditionInput {
  /** The supervisor's: `running`, `backoff`, `parked` and so on. */
  readonly state: string;
  /** Cause of its state, while it is down. */
  readonly reason: { readonly message: string } | null;
  readonly report: {
    readonly phase: string;
    readonly circuit?: Circuit | null;
    readonly lagBlocks: number | null;
    readonly lastError: string | null;
    readonly replica?: { readonly halt: Halt | null };
  } | null;
  readonly waiting: { readonly on: string | null } | null;
}

/** State of an actor, as its box shows it. */
export type Condition = Pick<PipelineNode, 'state' | 'doing' | 'reason'>;

const FOLLOWS = /^(?:live|verifying|caughtUp|inspecting|ready|available|(?:polling|parsing|indexing)\b.*)$/;
const WAITS = new Set([
  'reconnecting',
  'connecting',
  'waitingForNode',
  'nodeBehind',
  'decoderBehind',
  'refusedByDatabase',
  'waiting',
  'unavailable'
]);
const FAILED = new Set(['halted', 'refusing', 'failed']);
/** For an actor whose thread does not run; in every other such state of the supervisor an operator must act. */
const DOWN: Readonly<Record<string, readonly [PipelineState, string]>> = {
  starting: ['working', 'starting'],
  backoff: ['waiting', 'died, is restarted soon'],
  paused: ['waiting', 'paused'],
  stopped: ['waiting', 'stopped']
};

/** Returns what an actor waits for, or the error that stopped it, also while it is started again; null while it works. */
export function waitOf({
  state,
  reason,
  waiting
}: Pick<ConditionInput, 'state' | 'reason' | 'waiting'>): string | null {
  if (state === 'running' || state === 'starting') return waiting?.on ?? null;
  return reason?.message ?? state;
}

/** Returns an actor's state in one word, and why it is not well. */
export function conditionOf({ state, reason, report, waiting }: ConditionInput): Condition {
  if (state !== 'running') {
    const [down, doing] = DOWN[state] ?? ['failed', phrase(state)];
    const remedy = down === 'failed' ? '; mend the cause, then press Resume on its page' : '';
    return { state: down, doing, reason: boundReason(reason && reason.message + remedy) };
  }
  if (!report) return { state: 'unknown', doing: 'starting', reason: null };
  const halt = report.replica?.halt;
  if (halt) return { state: 'failed', doing: 'halted', reason: boundReason(`${halt.reason}; ${remedyOf(halt)}`) };
  const isCut = report.circuit === 'open' || report.circuit === 'half-open';
  const condition = isCut ? 'waiting' : phaseState(report.phase, report.lagBlocks);
  const waits = waiting?.on ? `waits for ${waiting.on}` : null;
  const why = report.lastError ?? (condition === 'well' ? null : waits);
  return { state: condition, doing: phrase(report.phase), reason: boundReason(why) };
}

/** Report of a service's loop about itself. */
export interface LoopReport {
  /** State of its machine. */
  readonly state: string;
  readonly haltReason: string | null;
  /** Attempts that failed since the last that did not. */
  readonly failures: number;
}

/** Returns the condition of a service's loop. @param crash why its thread is down @param report null: none came yet */
export function loopCondition(crash: string | null, report: LoopReport | null, lagBlocks: number | null): Condition {
  if (crash !== null) return { state: 'failed', doing: 'down', reason: boundReason(crash) };
  const last = report && { phase: report.state, lagBlocks, lastError: report.haltReason };
  const waiting = report?.failures ? { on: `the next attempt; ${report.failures} failed` } : null;
  return conditionOf({ state: 'running', reason: null, report: last, waiting });
}

/** Returns the condition of what a loop asks. @param answers null: it was not asked yet @param reason what to know while it does not */
export function peerCondition(answers: boolean | null, reason: string): Condition {
  if (answers === null) return { state: 'unknown', doing: 'not heard of yet', reason: null };
  if (answers) return { state: 'well', doing: 'answers', reason: null };
  return { state: 'failed', doing: 'does not answer', reason };
}

function phaseState(phase: string, lagBlocks: number | null): PipelineState {
  if (FAILED.has(phase)) return 'failed';
  if (WAITS.has(phase)) return 'waiting';
  return FOLLOWS.test(phase) && (lagBlocks ?? 0) <= NEAR_BLOCKS ? 'well' : 'working';
}

/** Returns `caught up` for `polling.caughtUp`, and `bootstrapping: loading` for `bootstrapping.loading`. */
export function phrase(phase: string): string {
  const path = phase.replace(/^(?:polling|parsing)\./, '').split('.');
  return path.map((name) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)).join(': ');
}
