import { PlatformError } from '../../src/errors.ts';
import type { Fact, Facts } from '../../src/wire/state/transition.ts';

const MAX_ENTRIES = 16;
const MAX_TEXT_LENGTH = 200;
const MAX_DEPTH = 3;

/**
 * Returns the part of a value that fits a line of the timeline: JSON, few members, short, shallow. An error becomes
 * code, policy and message.
 */
export function factsOf(value: object | unknown, depth = 0): Facts {
  const facts: Record<string, Fact> = {};
  for (const [name, inner] of Object.entries(value ?? {})) {
    const fact = factOf(inner, depth);
    if (fact === undefined) continue;
    facts[name] = fact;
    if (Object.keys(facts).length >= MAX_ENTRIES) break;
  }
  return facts;
}

function factOf(value: unknown, depth: number): Fact | undefined {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_LENGTH);
  if (value instanceof Error) return errorFact(value);
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return undefined;
  if (!Array.isArray(value)) return factsOf(value, depth + 1);
  return value.slice(0, MAX_ENTRIES).map((inner) => factOf(inner, depth + 1) ?? null);
}

function errorFact(error: Error): Fact {
  const message = error.message.slice(0, MAX_TEXT_LENGTH);
  return error instanceof PlatformError ? { code: error.code, policy: error.policy, message } : { message };
}
