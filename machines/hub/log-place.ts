import { setup } from 'xstate';

/** Events of the machine. */
type LogPlaceEvent =
  | { readonly type: 'proposal.accepted' }
  /** A quorum has prepared the proposal. */
  | { readonly type: 'proposal.prepared' }
  | { readonly type: 'batch.committed' }
  | { readonly type: 'batch.applied' }
  /** A state of a later place replaced the database. */
  | { readonly type: 'state.replaced' }
  | { readonly type: 'view.changed' };

/**
 * A place of the log at one hub. What is committed stays so in every later view; a hub that fetched a batch skips the votes.
 *
 * @see docs/decisions/0027-one-log-for-a-set-of-hubs.md
 */
export const logPlaceMachine = setup({ types: { events: {} as LogPlaceEvent } }).createMachine({
  id: 'logPlace',
  initial: 'empty',
  on: { 'state.replaced': '.applied' },
  states: {
    empty: { on: { 'proposal.accepted': 'prePrepared', 'batch.committed': 'committed' } },
    prePrepared: {
      on: { 'proposal.prepared': 'prepared', 'batch.committed': 'committed', 'view.changed': 'empty' }
    },
    prepared: { on: { 'batch.committed': 'committed', 'view.changed': 'empty' } },
    committed: { on: { 'batch.applied': 'applied' } },
    applied: { type: 'final' }
  }
});
