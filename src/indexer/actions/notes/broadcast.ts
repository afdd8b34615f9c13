import { defineAction, type Step } from '../../rules/action-definition.ts';
import { lengthOf, MEMO_CHECKS, orNull, readIndex, sourceSleeps } from '../../rules/checks.ts';

interface Broadcast {
  readonly message: string;
  readonly value: string;
  readonly fee: string;
  readonly updated: string;
  readonly memo: string;
}

const NUMBER = /^-?\d{1,40}(?:\.\d{1,40})?$/;
const UPDATE_FORMAT = 3;
const MAX_MESSAGE = 250;
const MAX_VALUE = 25;
const MAX_FEE = 11;

function read({ action: { fields } }: Step): Broadcast[] {
  const { get } = fields;
  return [
    {
      message: get('MESSAGE'),
      value: get('VALUE'),
      fee: get('FEE'),
      updated: get('BROADCAST_ACTION_INDEX'),
      memo: get('MEMO')
    }
  ];
}

/** Publishes a text or a number. It moves nothing. */
export const BROADCAST = defineAction<Broadcast>({
  name: 'BROADCAST',
  table: 'broadcasts',
  formats: {
    0: 'MESSAGE|VALUE',
    1: 'MESSAGE|VALUE|FEE|MEMO',
    2: 'MESSAGE|FEE|MEMO',
    3: 'BROADCAST_ACTION_INDEX|VALUE|MEMO'
  },
  read,
  checks: [
    ['VALUE (format)', ({ value }) => value !== '' && !NUMBER.test(value)],
    ['FEE (format)', ({ fee }) => fee !== '' && !NUMBER.test(fee)],
    [
      'BROADCAST_ACTION_INDEX (format)',
      ({ updated }, { action }) => action.format === UPDATE_FORMAT && readIndex(updated) === null
    ],
    sourceSleeps,
    [
      'BROADCAST_ACTION_INDEX (status)',
      ({ updated }, { action, ledger }) =>
        action.format === UPDATE_FORMAT && ledger.get('past', `${Number(updated)}`) === null
    ],
    ['MESSAGE (length)', ({ message }) => lengthOf(message) > MAX_MESSAGE],
    ['VALUE (length)', ({ value }) => value.length > MAX_VALUE],
    ['FEE (length)', ({ fee }) => fee.length > MAX_FEE],
    ...MEMO_CHECKS
  ],
  row: ({ message, value, fee, updated, memo }) => ({
    message: orNull(message),
    value: orNull(value),
    fee: orNull(fee),
    broadcast_action_index: readIndex(updated),
    memo_id: orNull(memo)
  })
});
