import type { Limits } from '../../coin/limits.ts';
import { type Charged, chargeFee, FEE_STATUSES } from '../fees/charge.ts';
import type { Rules } from '../profile/rules.ts';
import type { Action } from '../state/action.ts';
import type { Effects } from '../state/effects.ts';
import type { OutputsPaid } from '../state/payment.ts';
import type { Columns } from '../state/rows.ts';
import type { Parts } from './parts.ts';

/** Context of a handler. */
export interface Step {
  readonly action: Action;
  /** State of the ledger after earlier actions and earlier legs of this one. */
  readonly ledger: Effects;
  readonly rules: Rules;
  /** Limits of this block. */
  readonly limits: Limits;
  /** Outputs of its transaction; none where there is no transaction. */
  readonly payment: OutputsPaid;
  /** Actions that run directly after this one, before those that it leaves to the rest of its transaction. */
  readonly next: SystemAction[];
}

/** Action that no text asks for. */
export interface SystemAction {
  readonly name: string;
  readonly source: string;
  readonly format?: number;
  /** Whether it has the index of the transaction that caused it. */
  readonly hasTransaction?: boolean;
  /** Number of the output that it is about. */
  readonly vout?: number;
  /** Runs it. @returns false if nothing happened: then the action leaves nothing, and the next one gets its index */
  readonly run: (step: Step) => boolean;
}

/**
 * Status without `invalid: `, and the function that says whether a leg has it. Later checks may rely on earlier ones.
 */
export type Check<Leg> = readonly [status: string, fails: (leg: Leg, step: Step) => boolean];

/**
 * Action of the ledger: pure, without I/O.
 *
 * `read` parses the text into legs, the first check that fails is the status of a leg, and `apply` does what a valid
 * leg asks for. An action without parts has one leg. Each leg has its own row and status.
 */
interface ActionDefinition<Leg> {
  readonly name: string;
  /** Table of its rows. */
  readonly table: string;
  /** Fields after the version, by format. */
  readonly formats: Readonly<Record<number, string>>;
  readonly read: (step: Step) => readonly Leg[];
  readonly checks: readonly Check<Leg>[];
  /** Columns of a leg's row beside `action_index` and `status_id`, for a refused leg too. */
  readonly row: (leg: Leg, step: Step, isValid: boolean) => Columns;
  /** Whether the table has rows of valid legs only, as one without a status has. */
  readonly keepsValidOnly?: boolean;
  /** Whether a text may repeat its parts. Each part after the first is a unit of the block. */
  readonly takesParts?: boolean;
  /** Formats that read the facts of any transfer and seldom more. Those facts are guessed without a trial. */
  readonly plainFormats?: readonly number[];
  /** Gas items of a valid leg; null for a leg that is free. */
  readonly charges?: (leg: Leg, step: Step) => Charged | null;
  /** Does what a valid leg asks for. */
  readonly apply?: (leg: Leg, step: Step) => void;
}

/** Action without the type of its legs. */
export interface Handler {
  readonly name: string;
  readonly table: string;
  readonly formats: Readonly<Record<number, string>>;
  /** Status texts in the order in which they are checked. */
  readonly statuses: readonly string[];
  readonly keepsValidOnly: boolean;
  /** Whether an action may have very many rows, each with a status of its own. */
  readonly takesParts: boolean;
  readonly plainFormats: readonly number[];
  /** Handlers of its formats, where these have names and tables of their own. */
  readonly parts?: readonly Handler[];
  /** Judges and runs one action, leg by leg. Its result says whether any leg is valid. */
  readonly run: (step: Step) => Parts<boolean>;
}

/** Status of a valid action. */
export const VALID = 'valid';
/** Status of an action that is known, and is not built or not active in the block. */
export const NOT_ACTIVATED = 'ACTION is not yet activated';
/**
 * Prefix of the statuses of refused actions. A valid status may later be replaced by one without it: `released`,
 * `slashed`.
 */
export const REFUSED_PREFIX = 'invalid: ';

/** Status of the part of an action with which it ends: it has very many, and the block has no room for more. */
const PARTS_LIMIT = 'PARTS (limit)';
/** Parts of an action that are judged whatever room the block has. */
const FREE_PARTS = 250;

/** Returns the text under which a status is stored. */
export function statusText(refusal: string | undefined): string {
  return refusal === undefined ? VALID : REFUSED_PREFIX + refusal;
}

/** Returns whether a row's status is that of a refused action. */
export function isRefusal(status: unknown): boolean {
  return typeof status === 'string' && status.startsWith(REFUSED_PREFIX);
}

/** Makes the handler of a definition. */
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
    takesParts = false,
    plainFormats = []
  } = definition;
  const refusedFee = (leg: Leg, step: Step) => {
    const charged = charges?.(leg, step);
    return charged ? chargeFee(charged, step) : undefined;
  };
  const runLeg = (leg: Leg, step: Step, isCut: boolean): boolean => {
    const refusal = isCut ? PARTS_LIMIT : (checks.find(([, fails]) => fails(leg, step))?.[0] ?? refusedFee(leg, step));
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
    statuses: [
      'VERSION (unknown)',
      ...(takesParts ? [PARTS_LIMIT] : []),
      ...new Set(checks.map(([status]) => status)),
      ...(charges ? FEE_STATUSES : [])
    ],
    keepsValidOnly,
    takesParts,
    plainFormats,
    *run(step) {
      let isAnyValid = false;
      for (const [at, leg] of read(step).entries()) {
        if (at > 0 && takesParts) step.ledger.looked += 1;
        const isCut = takesParts && at >= FREE_PARTS && step.ledger.isFull;
        if (runLeg(leg, step, isCut)) isAnyValid = true;
        if (isCut) break; // those behind it have no rows either
        yield;
      }
      return isAnyValid;
    }
  };
}

/** Makes the handler of an action whose formats have tables of their own. The first part names it. */
export function byFormat(parts: readonly [Handler, ...Handler[]]): Handler {
  const [{ name, table }] = parts;
  return {
    name,
    table,
    formats: Object.assign({}, ...parts.map(({ formats }) => formats)),
    statuses: [...new Set(parts.flatMap(({ statuses }) => statuses))],
    keepsValidOnly: false,
    takesParts: false,
    plainFormats: [],
    parts,
    run: (step) => partOf(parts, step.action.format)!.run(step)
  };
}

/** Returns the name under which an action is recorded. */
export function recordedName({ name, parts }: Handler, format: number | null): string {
  return (parts && partOf(parts, format)?.name) ?? name;
}

function partOf(parts: readonly Handler[], format: number | null): Handler | undefined {
  return parts.find(({ formats }) => formats[format ?? -1] !== undefined);
}
