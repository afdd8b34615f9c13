import { after } from 'node:test';
import { ActorHandle } from '../../../../actors/runtime/supervision/actor-handle.ts';
import type { PlatformError } from '../../../../src/errors.ts';
import type { Beacon, Waiting } from '../../../../src/wire/state/actor-view.ts';
import type { Transition } from '../../../../src/wire/state/transition.ts';
import type { UnrulyAsks, UnrulyNeeds, UnrulyNotices } from '../../../fixtures/unruly-actor.ts';
import { UNHEARD } from '../../../support/unheard.ts';

const UNRULY = new URL('../../../fixtures/unruly-actor.ts', import.meta.url);

export interface Opened {
  readonly handle: ActorHandle<UnrulyAsks, UnrulyNeeds, UnrulyNotices>;
  readonly beacons: Beacon[];
  readonly transitions: Transition[];
  readonly waits: Waiting[];
  readonly faults: PlatformError[];
}

/** A thread of the unruly actor, ended after the test file. */
export function openUnruly(workerData: object = {}): Opened {
  const beacons: Beacon[] = [];
  const transitions: Transition[] = [];
  const waits: Waiting[] = [];
  const faults: PlatformError[] = [];
  const handle = new ActorHandle<UnrulyAsks, UnrulyNeeds, UnrulyNotices>({
    entry: UNRULY,
    name: 'unruly',
    workerData,
    mailboxLimit: 2,
    handlers: { double: (number) => number * 2 },
    listeners: {
      ...UNHEARD,
      beacon: (beacon) => void beacons.push(beacon),
      transition: (transition) => void transitions.push(transition),
      waiting: (waiting) => void waits.push(waiting),
      report: () => undefined
    },
    onFault: (error) => void faults.push(error)
  });
  after(() => handle.terminate());
  return { handle, beacons, transitions, waits, faults };
}
