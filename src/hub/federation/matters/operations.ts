import { CHAINS, chainNetwork } from '../../../coin/chains.ts';
import type { ActionPlace } from './records.ts';

/** A hub's part in a matter, as its operation has it. */
export type MatterStep =
  | { readonly type: 'attest'; readonly chain: string; readonly index: number; readonly destination: string }
  | {
      readonly type: 'action-word';
      readonly id: string;
      readonly turn: number;
      readonly place: ActionPlace | null;
      readonly sig: string | null;
    }
  | {
      readonly type: 'swap';
      readonly chain: string;
      readonly index: number;
      readonly destination: string;
      readonly destinationIndex: number | null;
    }
  | {
      readonly type: 'reorg';
      readonly chain: string;
      readonly height: number;
      readonly timestamp: number;
      readonly oldHash: string;
      readonly newHash: string;
    }
  | { readonly type: 'reorg-word'; readonly id: string; readonly isSeen: boolean; readonly sig: string | null }
  | {
      readonly type: 'propose';
      readonly parameter: string;
      readonly currentValue: string | null;
      readonly proposedValue: string;
      readonly rationale: string | null;
    }
  | { readonly type: 'vote'; readonly id: string; readonly approves: boolean }
  /** Brings the clock of the log to the end of matters: all that are over by then are closed. */
  | { readonly type: 'close'; readonly endsAt: number };

type StepType = MatterStep['type'];
type Check = (value: unknown) => boolean;

const TICKERS = CHAINS.map((chain) => chainNetwork(chain, 'mainnet').ticker);
/** Longest name of a parameter, and longest values and reasons, in characters. */
const [MOST_PARAMETER, MOST_VALUE, MOST_RATIONALE] = [255, 255, 2_000];
const MOST_ID = 288;
const MOST_ACTION = 64;
const MOST_SECONDS = 2 ** 32 - 1;
/** Characters of a body, its longest texts written as escapes. */
const MOST_BODY = 32_768;

const isText =
  (most: number): Check =>
  (value) =>
    typeof value === 'string' && value.length > 0 && value.length <= most && value.isWellFormed();
const isCount =
  (least: number, most: number = Number.MAX_SAFE_INTEGER): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const orNull =
  (is: Check): Check =>
  (value) =>
    value === null || is(value);
const isBoolean: Check = (value) => typeof value === 'boolean';
const isChain: Check = (value) => TICKERS.some((ticker) => ticker === value);
const isHash = matches(/^[0-9a-f]{64}$/);
const isSignature = orNull(matches(/^[0-9a-f]{128}$/));
const isPlace: Check = (value) =>
  hasFields(value, {
    action: matches(new RegExp(`^[\\x21-\\x7e]{1,${MOST_ACTION}}$`)),
    height: isCount(0),
    hash: isHash
  });

const ACTION = { chain: isChain, index: isCount(1), destination: isChain };

/** Fields of each step. */
const FIELDS: Readonly<Record<StepType, Readonly<Record<string, Check>>>> = {
  attest: ACTION,
  'action-word': { id: isText(MOST_ID), turn: isCount(1), place: orNull(isPlace), sig: isSignature },
  swap: { ...ACTION, destinationIndex: orNull(isCount(0)) },
  reorg: {
    chain: isChain,
    height: isCount(0),
    timestamp: isCount(0, MOST_SECONDS),
    oldHash: isHash,
    newHash: isHash
  },
  'reorg-word': { id: isText(MOST_ID), isSeen: isBoolean, sig: isSignature },
  propose: {
    parameter: matches(new RegExp(`^[\\x21-\\x7e]{1,${MOST_PARAMETER}}$`)),
    currentValue: orNull(isText(MOST_VALUE)),
    proposedValue: isText(MOST_VALUE),
    rationale: orNull((value) => value === '' || isText(MOST_RATIONALE)(value))
  },
  vote: { id: isText(MOST_ID), approves: isBoolean },
  close: { endsAt: isCount(1) }
};

/** Returns the body of an operation that is a hub's part in a matter. */
export function matterBodyOf(matter: MatterStep): string {
  return JSON.stringify({ matter });
}

/** Returns a hub's part in a matter; null for a body of another form. */
export function readMatter(body: string): MatterStep | null {
  // The name stands first in what a hub writes: bodies of other kinds, which are long, are not parsed.
  if (body.length > MOST_BODY || !body.startsWith('{"matter":')) return null;
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    return null;
  }
  if (!hasFields(read, { matter: () => true })) return null;
  const step = read['matter'];
  const type: unknown = Object(step).type;
  // As the name of a field a list of one name counts as that name: nothing but a text is a type.
  if (!isStepType(type) || !hasFields(step, { ...FIELDS[type], type: () => true })) return null;
  const found = step as unknown as MatterStep;
  return isConsistent(found) ? found : null;
}

function isStepType(type: unknown): type is StepType {
  return typeof type === 'string' && Object.hasOwn(FIELDS, type);
}

/** Returns whether a step says what its fields together can mean. */
function isConsistent(step: MatterStep): boolean {
  switch (step.type) {
    case 'attest':
    case 'swap':
      return step.chain !== step.destination;
    case 'action-word':
      return (step.place === null) === (step.sig === null);
    case 'reorg-word':
      return step.isSeen === (step.sig !== null);
    case 'reorg':
      return step.oldHash !== step.newHash;
    default:
      return true;
  }
}

function hasFields(
  value: unknown,
  fields: Readonly<Record<string, Check>>
): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const names = Object.keys(fields);
  if (Object.keys(value).length !== names.length) return false;
  return names.every(
    (name) => Object.hasOwn(value, name) && fields[name]!((value as Readonly<Record<string, unknown>>)[name])
  );
}
