import type { Check, Step } from '../../rules/action-definition.ts';

/** Fields that bind a token or an address to a contract. */
export interface ControllerFields {
  readonly controller: string;
  readonly actionClass: string;
  readonly unbinds: boolean;
}

const ACTION_CLASSES: ReadonlySet<string> = new Set(['transfer', 'trade', 'burn', 'mint', 'stake', 'ownership', 'all']);

/** Reads the fields of a controller. */
export function readController({ action: { fields } }: Step): ControllerFields {
  return {
    controller: fields.get('CONTROLLER'),
    actionClass: fields.get('ACTION_CLASS').toLowerCase(),
    unbinds: fields.get('UNBIND') === '1'
  };
}

/**
 * Check that stands before those of the token, where there is one. While no contract exists, nothing can be bound or
 * unbound.
 */
export const CONTROLLER_KNOWN: Check<ControllerFields> = [
  'CONTROLLER (unknown)',
  ({ controller }) => controller !== ''
];

/** Checks that stand after those of the token. */
export const CONTROLLER_BINDING: readonly Check<ControllerFields>[] = [
  ['ACTION_CLASS (unknown)', ({ actionClass }) => !ACTION_CLASSES.has(actionClass)],
  ['ACTION_CLASS (not bound)', ({ unbinds }) => unbinds],
  ['CONTROLLER (null)', ({ controller }) => controller === '']
];

/** Checks of a controller without a token. */
export const CONTROLLER_CHECKS: readonly Check<ControllerFields>[] = [CONTROLLER_KNOWN, ...CONTROLLER_BINDING];
