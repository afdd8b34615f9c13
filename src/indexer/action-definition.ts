import type { Action, Columns, Effects } from './effects.ts';
import type { Rules } from './rules.ts';

/** What a handler is given. */
export interface Step {
  readonly action: Action;
  /** Reads the ledger as earlier actions and earlier legs of this one left it. */
  readonly ledger: Effects;
  readonly rules: Rules;
}

/** A status without `invalid: `, and whether it is the leg's. Later checks may rely on earlier ones. */
export type Check<Leg> = readonly [status: string, fails: (leg: Leg, step: Step) => boolean];

/**
 * One action of the ledger: pure, without I/O.
 *
 * `read` says what the text asks for, the first check that fails is the status, `apply` moves what a valid leg moves. Actions
 * without parts have one leg; each leg has its own row and verdict.
 */
export interface ActionDefinition<Leg> {
  readonly name: string;
  /** Where its rows go. */
  readonly table: string;
  /** Fields after the version, by format. */
  readonly formats: Readonly<Record<number, string>>;
  readonly read: (step: Step) => readonly Leg[];
  readonly checks: readonly Check<Leg>[];
  /** Columns of a leg's row beside `action_index` and `status_id`, also of one that is refused. */
  readonly row: (leg: Leg, step: Step) => Columns;
  /** Of a valid leg. */
  readonly apply?: (leg: Leg, step: Step) => void;
}

/** An action whose legs nobody outside of it needs to know. */
export interface Handler {
  readonly name: string;
  readonly table: string;
  readonly formats: Readonly<Record<number, string>>;
  /** Its status texts in the order in which they are checked. */
  readonly statuses: readonly string[];
  /** Judges and carries out one action. @returns whether any of it is valid */
  readonly run: (step: Step) => boolean;
}

export const VALID = 'valid';

/** The text that a status is stored as. */
export function statusText(refusal: string | undefined): string {
  return refusal === undefined ? VALID : `invalid: ${refusal}`;
}

/** Makes a handler of a definition. */
export function defineAction<Leg>(definition: ActionDefinition<Leg>): Handler {
  const { name, table, formats, checks, read, row, apply } = definition;
  const runLeg = (leg: Leg, step: Step): boolean => {
    const refusal = checks.find(([, fails]) => fails(leg, step))?.[0];
    const { action, ledger } = step;
    if (refusal === undefined) apply?.(leg, step);
    ledger.record(table, { action_index: action.index, ...row(leg, step), status_id: statusText(refusal) });
    return refusal === undefined;
  };
  return {
    name,
    table,
    formats,
    statuses: ['VERSION (unknown)', ...new Set(checks.map(([status]) => status))],
    run: (step) => {
      const verdicts = read(step).map((leg) => runLeg(leg, step));
      return verdicts.some((isValid) => isValid);
    }
  };
}
