import { ERRORS, type ErrorCode } from '../errors.ts';
import type { ActorName } from '../wire/state/actor.ts';
import type { ActorView } from '../wire/state/actor-view.ts';
import type { ValidatorState } from './federation/node/validator-asks.ts';

/** Reason why a hub of a set decides nothing, and what ends it. */
export interface SetTrouble {
  readonly code: ErrorCode;
  readonly reason: string;
  readonly remedy: string;
}

/** Facts about a hub as a member of its set. */
interface SetFacts {
  /** The actor that votes. */
  readonly actor: Pick<ActorView<ActorName>, 'state' | 'reason' | 'restarts'> | undefined;
  readonly standing: Pick<ValidatorState, 'phase' | 'peers' | 'refused' | 'waiting' | 'lost' | 'split'>;
  /** Other hubs that must be connected for a decision. */
  readonly needed: number;
  /** Milliseconds since something was decided, or nothing waited. */
  readonly stillMs: number;
}

/** States of an actor that does nothing. */
const DOWN = ['parked', 'failed', 'backoff', 'paused'];
/** Failures of the part that votes whose reasons quote no host, path or SQL. */
const PLAIN: ReadonlySet<ErrorCode> = new Set([
  'CLOCK_STEPPED_BACK',
  'EQUIVOCATION_PREVENTED',
  'HUB_HALTED',
  'LOG_OUT_OF_ORDER',
  'LOG_TAKEN'
]);
/** Time that waiting operations have: four leaders may be silent one after the other. */
const PATIENCE_MS = 8_000;
/** By the reason for which others are refused, its likely cause. */
const CAUSES: Readonly<Record<string, string>> = {
  'another time': 'clocks differ by more than 30 seconds: compare that of this machine with those of the others',
  'another set': 'a hub is of another set: compare HUB_FEDERATION, ORACLE_ and GOV_VOTING_PERIOD settings',
  'another key': 'another key answers at the address of a member: compare HUB_FEDERATION'
};

const LOST_REMEDY =
  'start a hub that still has that log; where all were rejoined, give HUB_FEDERATION another number, such as "log": 2, at all of them, and start each once with --rejoin';

const SPLIT_REMEDY =
  'somebody changed tables of one side: start hubs that are away, whose word makes a quorum, or the hub that was changed with an empty database';

/** Returns why a hub of a set decides nothing; null where it does, or starts. */
export function troubleOf({ actor, standing, needed, stillMs }: SetFacts): SetTrouble | null {
  const { phase, peers, refused, waiting, lost, split } = standing;
  if (actor?.reason && DOWN.includes(actor.state)) return troubleOfActor(actor.reason.code, actor.reason.message);
  if (phase === 'halted') return troubleBy('HUB_HALTED', 'it votes no more');
  if (phase === 'starting') {
    // A thread that starts after the death of another one may die of the same.
    const last = actor?.restarts.causes.at(-1);
    return last && last.cause in ERRORS ? troubleOfActor(last.cause as ErrorCode, last.reason) : null;
  }
  if (refused === 'own key')
    return troubleBy('EQUIVOCATION_PREVENTED', 'another process has its key: other hubs close its sockets for those');
  if (peers.length < needed) {
    const reason = `${peers.length} of ${needed} needed hubs are connected`;
    const cause = refused === null ? undefined : CAUSES[refused];
    return cause === undefined ? troubleBy('NO_QUORUM', reason) : { code: 'NO_QUORUM', reason, remedy: cause };
  }
  if (lost !== null) {
    const reason = `it waits for the log that it had up to place ${lost} before --rejoin, and no connected hub hands out more than this one has`;
    return { code: 'LOG_OUT_OF_ORDER', reason, remedy: LOST_REMEDY };
  }
  if (waiting === 0 || stillMs < PATIENCE_MS) return null;
  const still = `${waiting} operations wait, and none was decided for ${Math.floor(stillMs / 1_000)} s`;
  if (split !== null) {
    const sides = split.signers.map((keys) => keys.join(' and ')).join(', another one by ');
    const reason = `${still}: hubs differ since place ${split.seq}, where one state was signed by ${sides}`;
    return { code: 'CONSENSUS_TIMEOUT', reason, remedy: SPLIT_REMEDY };
  }
  const remedy = 'platform-node federation status names hubs that are behind or halted: a quorum must take part';
  return { code: 'CONSENSUS_TIMEOUT', reason: still, remedy };
}

function troubleOfActor(code: ErrorCode, reason: string): SetTrouble {
  return troubleBy(code, PLAIN.has(code) ? reason : 'the part of this hub that votes is down; its log has more');
}

function troubleBy(code: ErrorCode, reason: string): SetTrouble {
  return { code, reason, remedy: ERRORS[code].hint };
}
