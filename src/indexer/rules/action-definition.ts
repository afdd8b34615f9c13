import type { Limits } from '../../coin/limits.ts';
import { type Charged, chargeFee, FEE_STATUSES } from '../fees/charge.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import type { OutputsPaid } from '../state/payment.ts';
import type { Columns } from '../state/rows.ts';
import type { Rules } from './rules.ts';

/** What a handler is given. */
export interface Step {
  readonly action: Action;
  /** Reads the ledger as earlier actions and earlier legs of this one left it. */
  readonly ledger: Effects;
  readonly rules: Rules;
  /** Of this block. */
  readonly limits: Limits;
  /** What its transaction pays; nothing where there is none. */
  readonly payment: OutputsPaid;
  /** Actions that run directly after this one, before those that it leaves to the rest of its transaction. */
  readonly next: SystemAction[];
}

/** An action that no text asks for. */
export interface SystemAction {
  readonly name: string;
  readonly source: string;
  readonly format?: number;
  /** Whether it bears the number of the transaction that caused it. */
  readonly hasTransaction?: boolean;
  /** The output that it is about. */
  readonly vout?: number;
  /** @returns whether anything happened; else the action leaves nothing, and the next one gets its number */
  readonly run: (step: Step) => boolean;
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
  readonly row: (leg: Leg, step: Step, isValid: boolean) => Columns;
  /** Whether the table has valid legs alone, as one without a status has. */
  readonly keepsValidOnly?: boolean;
  /** Formats that read what any transfer reads and seldom more: to look for that needs no trial. */
  readonly plainFormats?: readonly number[];
  /** What a valid leg pays gas for; null for a leg that is free. */
  readonly charges?: (leg: Leg, step: Step) => Charged | null;
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
  readonly keepsValidOnly: boolean;
  readonly plainFormats: readonly number[];
  /** The handlers of its formats, where these have names and tables of their own. */
  readonly parts?: readonly Handler[];
  /** Judges and carries out one action. @returns whether any of it is valid */
  readonly run: (step: Step) => boolean;
}

export const VALID = 'valid';
/** What is known, and is not built or not active in a block. */
export const NOT_ACTIVATED = 'ACTION is not yet activated';
/** What statuses of refused actions begin with. Others may later be written over `valid`: `released`, `slashed`. */
export const REFUSED_PREFIX = 'invalid: ';

/** The text that a status is stored as. */
export function statusText(refusal: string | undefined): string {
  return refusal === undefined ? VALID : REFUSED_PREFIX + refusal;
}

/** Whether a row's status says that its action was refused. */
export function isRefusal(status: unknown): boolean {
  return typeof status === 'string' && status.startsWith(REFUSED_PREFIX);
}

/** Makes a handler of a definition. */
export function defineAction<Leg>(definition: ActionDefinition<Leg>): Handler {
  const {
    name,
    table,
    formats,
    checks,
    read,
    row,
    charges,
    apply,
    keepsValidOnly = false,
    plainFormats = []
  } = definition;
  const refusedFee = (leg: Leg, step: Step) => {
    const charged = charges?.(leg, step);
    return charged ? chargeFee(charged, step) : undefined;
  };
  const runLeg = (leg: Leg, step: Step): boolean => {
    const refusal = checks.find(([, fails]) => fails(leg, step))?.[0] ?? refusedFee(leg, step);
    const { action, ledger } = step;
    const isValid = refusal === undefined;
    if (isValid) apply?.(leg, step);
    const status = statusText(refusal);
    if (keepsValidOnly && !isValid) ledger.refusals.push({ table, actionIndex: action.index, status });
    else ledger.record(table, { action_index: action.index, ...row(leg, step, isValid), status_id: status });
    return isValid;
  };
  return {
    name,
    table,
    formats,
    statuses: ['VERSION (unknown)', ...new Set(checks.map(([status]) => status)), ...(charges ? FEE_STATUSES : [])],
    keepsValidOnly,
    plainFormats,
    run: (step) => {
      const verdicts = read(step).map((leg) => runLeg(leg, step));
      return verdicts.some((isValid) => isValid);
    }
  };
}

/** One action whose formats have tables of their own; the first part names it. */
export function byFormat(parts: readonly [Handler, ...Handler[]]): Handler {
  const [{ name, table }] = parts;
  return {
    name,
    table,
    formats: Object.assign({}, ...parts.map(({ formats }) => formats)),
    statuses: [...new Set(parts.flatMap(({ statuses }) => statuses))],
    keepsValidOnly: false,
    plainFormats: [],
    parts,
    run: (step) => partOf(parts, step.action.format)!.run(step)
  };
}

/** The name that an action is recorded under. */
export function recordedName({ name, parts }: Handler, format: number | null): string {
  return (parts && partOf(parts, format)?.name) ?? name;
}

function partOf(parts: readonly Handler[], format: number | null): Handler | undefined {
  return parts.find(({ formats }) => formats[format ?? -1] !== undefined);
}
