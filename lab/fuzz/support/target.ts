import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type ErrorCode, PlatformError } from '../../../src/errors.ts';

/** A parser of outside input: how hostile input for it is made, and what must hold of each. */
export interface Target<Input = unknown> {
  readonly name: string;
  /** Sentence that holds of every input. */
  readonly promise: string;
  /** Inputs of one round of `npm run fuzz`, and of the short run in `npm test`. */
  readonly runs: number;
  readonly shortRuns: number;
  readonly inputs: fc.Arbitrary<Input>;
  /** @throws what is wrong */
  readonly check: (input: Input) => void | Promise<void>;
  /** Inputs of a length that may be doubled, by what grows in them: twice as long may take twice as long. */
  readonly growing?: Readonly<Record<string, (length: number) => Input>>;
  /** Ends what the checks started. */
  readonly close?: () => Promise<void>;
}

/** A target whose kind of input nobody else needs to know. */
export const target = <Input>(row: Target<Input>): Target => row as unknown as Target;

/** Finding of a round: the smallest input that breaks the promise. */
export interface Finding {
  readonly input: string;
  readonly reason: string;
}

/** Objects that no input may change. */
const SHARED = [Object, Array, Function, String, Number, Map, Promise, Error].flatMap((made) => [made, made.prototype]);
const shape = () => SHARED.map((each) => Reflect.ownKeys(each).length).join();
const UNTOUCHED = shape();

/** Plays the inputs of one seed. @returns null when the promise holds for each */
export async function play({ inputs, check }: Target, seed: number, runs: number): Promise<Finding | null> {
  const property = fc.asyncProperty(inputs, async (input) => {
    await check(input);
    for (const name in {}) assert.fail(`the prototype of all objects was given ${name}`);
  });
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: runs });
  if (!failed && shape() === UNTOUCHED) return null;
  if (!failed) return { input: 'one of them', reason: 'a shared prototype was changed' };
  const reason =
    errorInstance instanceof Error ? (errorInstance.stack ?? errorInstance.message) : String(errorInstance);
  return { input: shown(counterexample?.[0]), reason };
}

const MAX_SHOWN = 5_000;

/** Bytes as text of one character each. */
function shown(input: unknown): string {
  const text = JSON.stringify(input, (_, value: unknown) => {
    const { type, data } = Object(value) as { type?: unknown; data?: unknown };
    return type === 'Buffer' && Array.isArray(data) ? Buffer.from(data as number[]).toString('latin1') : value;
  });
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)` : text;
}

/** Returns the outcome of a parser: a value, or one of its allowed refusals, in so many characters. @throws any other error */
export async function outcome<T>(
  parse: () => T | Promise<T>,
  refusals: readonly ErrorCode[],
  longest = 4_000
): Promise<{ readonly value: T } | { readonly refused: PlatformError }> {
  try {
    return { value: await parse() };
  } catch (caught) {
    if (!(caught instanceof PlatformError)) throw caught;
    assert.ok(refusals.includes(caught.code), `refused with ${caught.code}: ${caught.message.slice(0, 300)}`);
    assert.ok(caught.message.length <= longest, `a message of ${caught.message.length} characters`);
    return { refused: caught };
  }
}
