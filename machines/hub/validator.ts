import { setup } from 'xstate';

/** Events of the machine. */
type ValidatorEvent =
  /** @property leads  whether this hub leads the view */
  | { readonly type: 'view.begun'; readonly leads: boolean }
  | { readonly type: 'view.asked' }
  /** More hubs than may lie are further than a leader proposes ahead. */
  | { readonly type: 'log.passed' }
  /** This hub has come up to them. @property isChanging  whether it asks for a view */
  | { readonly type: 'log.reached'; readonly isChanging: boolean; readonly leads: boolean }
  /** This hub's state is not the one that a quorum signed. */
  | { readonly type: 'state.contradicted' };

const leads = ({ event }: { event: ValidatorEvent }): boolean => 'leads' in event && event.leads;
const isChanging = ({ event }: { event: ValidatorEvent }): boolean => 'isChanging' in event && event.isChanging;

const NEXT_VIEW = [{ guard: 'leads', target: 'leading' }, { target: 'following' }] as const;

/**
 * A hub as a validator: it follows or leads a view, asks for the next one, or catches up with the others.
 *
 * A hub leads only a view that it asked for, the first one aside. `halted` is final: a hub that comes back from it takes the state
 * of the others.
 *
 * @see docs/decisions/0027-one-log-for-a-set-of-hubs.md
 */
export const validatorMachine = setup({
  types: { events: {} as ValidatorEvent, input: {} as { readonly isChanging: boolean; readonly leads: boolean } },
  guards: { leads, isChanging }
}).createMachine({
  id: 'validator',
  initial: 'catchingUp',
  on: { 'state.contradicted': '.halted' },
  states: {
    following: { on: { 'view.asked': 'changingView', 'log.passed': 'catchingUp' } },
    leading: {
      on: { 'view.asked': 'changingView', 'view.begun': 'following', 'log.passed': 'catchingUp' }
    },
    changingView: { on: { 'view.begun': [...NEXT_VIEW], 'log.passed': 'catchingUp' } },
    catchingUp: { on: { 'log.reached': [{ guard: 'isChanging', target: 'changingView' }, ...NEXT_VIEW] } },
    halted: { type: 'final' }
  }
});
