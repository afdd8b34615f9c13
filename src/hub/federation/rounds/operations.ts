import type { CapabilityPhase } from '../../../../machines/hub/capability.ts';
import { CAPABILITIES } from '../../../coin/capabilities.ts';
import { isGatheredRound } from './reading.ts';
import type { GatheredRound } from './statements.ts';

/** Name of a capability. */
export type CapabilityName = (typeof CAPABILITIES)[number];

/** States of a hub's capability: those of the machine `capability`. */
const PHASES: readonly CapabilityPhase[] = ['disabled', 'unqualified', 'qualified', 'ready'];

/** A hub's word about itself: for what it qualifies by its stake, and whether its self-test passes. */
export interface CapabilityClaim {
  readonly name: CapabilityName;
  readonly phase: CapabilityPhase;
  /** Block of Bitcoin at which its stake was counted; null where that was not done. */
  readonly height: number | null;
  /** Reason why its self-test failed; null where it passed. */
  readonly reason: string | null;
}

/** Longest reason, in characters. */
export const MOST_REASON = 200;
/** Characters of the body of a capability, its reason written as escapes. */
const MOST_CLAIM = 4_096;

/** Returns the body of an operation by which a hub tells of its capability. */
export function capabilityBodyOf(capability: CapabilityClaim): string {
  return JSON.stringify({ capability });
}

/** Returns the body of an operation that has a round of prices decided. */
export function roundBodyOf(round: GatheredRound): string {
  return JSON.stringify({ round });
}

/** Returns whether a value names a capability. */
export function isCapabilityName(name: unknown): name is CapabilityName {
  return CAPABILITIES.some((one) => one === name);
}

/** Returns a hub's word about a capability; null for a body of another form. */
export function readCapability(body: string): CapabilityClaim | null {
  if (body.length > MOST_CLAIM) return null;
  const claim = fieldOf(body, 'capability');
  if (Object.keys(Object(claim)).sort().join() !== 'height,name,phase,reason') return null;
  const { name, phase, height, reason } = claim as Readonly<Record<string, unknown>>;
  const isKnown = isCapabilityName(name) && PHASES.some((one) => one === phase);
  const isHeight = height === null || (Number.isSafeInteger(height) && (height as number) >= 0);
  const isReason = reason === null || (typeof reason === 'string' && reason.length <= MOST_REASON);
  return isKnown && isHeight && isReason ? (claim as CapabilityClaim) : null;
}

/** Returns a round that an operation would have decided; null for a body of another form. */
export function readRound(body: string): GatheredRound | null {
  const round = fieldOf(body, 'round');
  return isGatheredRound(round) ? round : null;
}

/** Returns the one field of a body; undefined for any other. */
function fieldOf(body: string, name: string): unknown {
  // The name stands first in what a hub writes: bodies of other kinds, which are long, are not parsed.
  if (!body.startsWith(`{"${name}":`)) return undefined;
  try {
    const fields = Object(JSON.parse(body)) as Readonly<Record<string, unknown>>;
    return Object.keys(fields).length === 1 ? fields[name] : undefined;
  } catch {
    return undefined;
  }
}
