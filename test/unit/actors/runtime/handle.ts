import { after } from 'node:test';
import { ActorHandle } from '../../../../actors/runtime/actor-handle.ts';
import type { PlatformError } from '../../../../src/errors.ts';
import type { UnrulyAsks, UnrulyNeeds } from '../../../fixtures/unruly-actor.ts';

const UNRULY = new URL('../../../fixtures/unruly-actor.ts', import.meta.url);

export interface Opened {
  readonly handle: ActorHandle<UnrulyAsks, UnrulyNeeds>;
  readonly notices: { type: string; body: unknown }[];
  readonly faults: PlatformError[];
}

/** A thread of the unruly actor, ended after the test file. */
export function openUnruly(workerData: object = {}): Opened {
  const notices: Opened['notices'] = [];
  const faults: PlatformError[] = [];
  const handle = new ActorHandle<UnrulyAsks, UnrulyNeeds>({
    entry: UNRULY,
    name: 'unruly',
    workerData,
    mailboxLimit: 2,
    handlers: { double: (number) => number * 2 },
    onNotice: (type, body) => void notices.push({ type, body }),
    onFault: (error) => void faults.push(error)
  });
  after(() => handle.terminate());
  return { handle, notices, faults };
}
