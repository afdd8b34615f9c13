import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import { MEMO_CHECKS, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';
import { CONTROLLER_CHECKS, type ControllerFields, readController } from '../tokens/controller.ts';

interface AddressAction {
  readonly fee: string;
  readonly requiresMemo: string;
  readonly dispenser: string;
  readonly memo: string;
  /** Fields of format 1; null in other formats. */
  readonly controller: ControllerFields | null;
}

const CONTROLLER_FORMAT = 1;
const DEFAULT_FEE = 0;

function read(step: Step): AddressAction[] {
  const { get } = step.action.fields;
  return [
    {
      fee: get('FEE_PREFERENCE'),
      requiresMemo: get('REQUIRE_MEMO'),
      dispenser: get('DISPENSER_PREFERENCE'),
      memo: get('MEMO'),
      controller: step.action.format === CONTROLLER_FORMAT ? readController(step) : null
    }
  ];
}

const isNumber = (text: string) => text === '' || readIndex(text) !== null;
const isOneOf = (text: string, values: readonly number[]) => text === '' || values.includes(Number(text));

const controllerChecks: readonly Check<AddressAction>[] = CONTROLLER_CHECKS.map(([status, fails]) => [
  status,
  ({ controller }, step) => controller !== null && fails(controller, step)
]);

/** Sets the preferences of an address for those who deal with it. */
export const ADDRESS = defineAction<AddressAction>({
  name: 'ADDRESS',
  table: 'addresses',
  formats: {
    0: 'FEE_PREFERENCE|REQUIRE_MEMO|DISPENSER_PREFERENCE|MEMO',
    1: 'CONTROLLER|ACTION_CLASS|COOLDOWN_BLOCKS|UNBIND|MEMO'
  },
  read,
  checks: [
    ['FEE_PREFERENCE (format)', ({ fee }) => !isNumber(fee)],
    ['REQUIRE_MEMO (format)', ({ requiresMemo }) => !isNumber(requiresMemo)],
    ['DISPENSER_PREFERENCE (format)', ({ dispenser }) => !isNumber(dispenser)],
    ['FEE_PREFERENCE (value)', ({ fee }) => !isOneOf(fee, [0, 1, 2])],
    ['REQUIRE_MEMO (value)', ({ requiresMemo }) => !isOneOf(requiresMemo, [0, 1])],
    ['DISPENSER_PREFERENCE (value)', ({ dispenser }) => !isOneOf(dispenser, [1, 2])],
    ...controllerChecks,
    sourceSleeps,
    ...MEMO_CHECKS
  ],
  row: ({ fee, requiresMemo, dispenser, memo }) => ({
    fee_preference: readIndex(fee),
    require_memo: readIndex(requiresMemo),
    dispenser_preference: readIndex(dispenser),
    memo_id: orNull(memo)
  }),
  apply: ({ fee, requiresMemo, dispenser }, { action, ledger }) => {
    const former = ledger.preferences(action.source);
    const preferences = {
      fee: fee === '' ? DEFAULT_FEE : Number(fee),
      requiresMemo: readIndex(requiresMemo) === 1,
      dispenser: dispenser === '' ? (former?.dispenser ?? null) : Number(dispenser)
    };
    ledger.set('preferences', action.source, preferences);
    ledger.record('address_preferences', {
      action_index: action.index,
      address_id: action.source,
      fee_preference: preferences.fee,
      require_memo: Number(preferences.requiresMemo),
      dispenser_preference: preferences.dispenser
    });
  }
});
