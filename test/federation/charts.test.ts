import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnyStateMachine } from 'xstate';
import { BEHAVIOURS } from '../../lab/federation/liars.ts';
import { Simulation } from '../../lab/federation/simulation.ts';
import { logPlaceMachine } from '../../machines/hub/log-place.ts';
import { validatorMachine } from '../../machines/hub/validator.ts';
import { EMPTY_LOG } from '../../src/hub/federation/consensus/messages.ts';
import { type PlacePhase, phaseOf, placePhaseOf } from '../../src/hub/federation/consensus/phase.ts';
import type { Rules } from '../../src/hub/federation/consensus/rules.ts';
import type { ConsensusState } from '../../src/hub/federation/consensus/state.ts';
import { OneHub } from './one-hub.ts';

/** The ways of a chart, `from to`. */
function waysOf({ root }: AnyStateMachine): Set<string> {
  const ways = new Set<string>();
  const ofAll = root.transitions.values().toArray().flat();
  for (const state of Object.values(root.states)) {
    if (state.type === 'final') continue;
    for (const { target } of [...state.transitions.values().toArray().flat(), ...ofAll])
      for (const { key } of target ?? []) ways.add(`${state.key} ${key}`);
  }
  return ways;
}

const RUN = { hubs: 4, steps: 12_000, disturbance: 0.005 } as const;
/** Runs after which a way that no hub went is one that it cannot go. */
const MOST_RUNS = 40;
/** Ways that these runs need not show: unit tests do. A halt is a fault of the product, which no run may have. */
const SELDOM = [' halted', ' applied', 'leading catchingUp', 'catchingUp leading', 'leading following'];

/** Votes of one view, in the order in which a place goes through them. */
const VOTES: readonly PlacePhase[] = ['empty', 'prePrepared', 'prepared'];

/** Returns the phases after `from` up to `to`: one step of a hub may be several of a place. */
function between(from: PlacePhase, to: PlacePhase, isOtherView: boolean): readonly PlacePhase[] {
  const [first, last] = [VOTES.indexOf(from), VOTES.indexOf(to)];
  if (first < 0 || last < 0) return [to];
  if (isOtherView && first > 0) return VOTES.slice(0, last + 1);
  return last > first ? VOTES.slice(first + 1, last + 1) : [to];
}

/** Notes each way of hubs and of places in a run. */
function watch(hubs: Set<string>, places: Set<string>) {
  return (before: ConsensusState, after: ConsensusState, rules: Rules): void => {
    const note = (ways: Set<string>, from: string, to: string) => {
      if (from !== to) ways.add(`${from} ${to}`);
    };
    note(hubs, phaseOf(before, rules), phaseOf(after, rules));
    if (before.slots === after.slots && before.applied === after.applied) return;
    const isOtherView = before.view !== after.view || before.isChanging !== after.isChanging;
    for (const seq of new Set([...before.slots.keys(), ...after.slots.keys()])) {
      const way = [
        placePhaseOf(before, seq),
        ...between(placePhaseOf(before, seq), placePhaseOf(after, seq), isOtherView)
      ];
      for (const [at, from] of way.slice(0, -1).entries()) note(places, from, way[at + 1]!);
    }
  };
}

test('hubs and places of the log go the ways of their charts, all of them, and no other', () => {
  const [hubs, places] = [new Set<string>(), new Set<string>()];
  const [hubWays, placeWays] = [waysOf(validatorMachine), waysOf(logPlaceMachine)];
  const isSeldom = (way: string) => SELDOM.some((each) => way.includes(each)) && way !== 'committed applied';
  const missing = () => [
    ...[...hubWays].filter((way) => !hubs.has(way) && !isSeldom(way)),
    ...[...placeWays].filter((way) => !places.has(way) && !isSeldom(way))
  ];
  for (let seed = 0; seed < MOST_RUNS && missing().length > 0; seed++) {
    const behaviour = BEHAVIOURS[seed % BEHAVIOURS.length]!;
    const isBusy = seed % 2 === 0;
    new Simulation({ ...RUN, seed, isBusy, behaviour, watch: watch(hubs, places) }).run();
  }
  assert.deepEqual(missing(), []);
  assert.deepEqual(
    [...hubs].filter((way) => !hubWays.has(way)),
    []
  );
  assert.deepEqual(
    [...places].filter((way) => !placeWays.has(way)),
    []
  );
});

test('a leader that hears two hubs far ahead catches up, and leads again when it has', () => {
  const hub = new OneHub('a');
  const phaseAfter = (from: string, seq: number) => {
    hub.take({ type: 'peer.heard', from, view: 0, seq });
    return phaseOf(hub.state, hub.keys.rulesOf('a'));
  };
  assert.deepEqual([phaseAfter('b', 9), phaseAfter('c', 9), phaseAfter('b', 8)], ['leading', 'catchingUp', 'leading']);
});

test('a leader that is sent the beginning of a later view follows it, though it never asked for one', () => {
  const hub = new OneHub('a');
  const changes = ['b', 'c', 'd'].map((sender) =>
    hub.signed(sender, { kind: 'viewChange', view: 1, stable: EMPTY_LOG, last: null, places: [] })
  );
  const phase = () => phaseOf(hub.state, hub.keys.rulesOf('a'));
  assert.equal(phase(), 'leading');
  hub.receive('b', { kind: 'newView', view: 1, changes });
  assert.deepEqual([phase(), hub.state.view], ['following', 1]);
});
