import { parseCommand } from '../../../coin/action/command.ts';
import { groupFields, groupWithMemo } from '../../../coin/action/fields.ts';
import { formatAmount } from '../../../consensus/amount.ts';
import { dispense, hasDispenser } from '../../offers/dispense.ts';
import { defineAction, type Step } from '../../rules/action-definition.ts';
import {
  isExcluded,
  MEMO_CHECKS,
  namedAddress,
  orNull,
  ownAddress,
  plainAddress,
  readAmount,
  requestTransfers,
  sourceExcluded,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import { tickKey } from '../../state/keys.ts';
import type { Token } from '../../state/token.ts';

/** Format of an encrypted MESSAGE. */
const KEY_MESSAGE = 2;

interface Leg {
  readonly tick: string;
  readonly token: Token | null;
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly destination: string;
  readonly memo: string;
  readonly ordinal: number;
  /** Holding of the destination before the action, if the token has files for its holders; else 0. */
  readonly held: bigint;
}

/** Returns TICK, AMOUNT, DESTINATION and MEMO of each leg. One field too many at the end is the memo of all. */
function legsOf({ action: { format, fields } }: Step): string[][] {
  const { all } = fields;
  switch (format) {
    case 1: {
      const [tick = '', ...rest] = all;
      return groupWithMemo(rest, 2).map((group) => [tick, ...group]);
    }
    case 2:
      return groupWithMemo(all, 3);
    case 3:
      return groupFields(all, 4);
    default:
      return groupFields(all.slice(0, 4), 4);
  }
}

function read(step: Step): Leg[] {
  const { ledger } = step;
  const groups = legsOf(step);
  // The facts of a single transfer have been guessed already.
  if (groups.length > 1)
    requestTransfers(
      step,
      groups.map(([tick, , destination]) => [tick!, destination!])
    );
  const legs = new Map<string, Leg>();
  for (const [place, [tick, amountText, destinationText, memo]] of (groups.length > 0
    ? groups
    : [['', '', '', '']]
  ).entries()) {
    const destination = plainAddress(step, destinationText!);
    const token = ledger.token(tick!);
    const amount = readAmount(amountText!, token);
    const key = amount === null ? `leg ${place}` : `${tickKey(token?.tick ?? tick!)}|${destination}`;
    const sum = (legs.get(key)?.amount ?? 0n) + (amount ?? 0n);
    const ordinal = legs.get(key)?.ordinal ?? legs.size;
    const merged = amount === null ? null : sum;
    const hasFiles = token !== null && ledger.get('gate', tickKey(token.tick)) !== null;
    const held = hasFiles ? ledger.balance(token.tick, destination) : 0n;
    legs.set(key, {
      tick: tick!,
      token,
      amountText: amountText!,
      amount: merged,
      destination,
      memo: memo!,
      ordinal,
      held
    });
  }
  return [...legs.values()];
}

/**
 * Returns whether the destination could then open a file of the token, and the BATCH has no message that may hand it
 * the key.
 */
function lacksKey({ token, amount, destination, held }: Leg, step: Step): boolean {
  const gate = step.ledger.get('gate', tickKey(token!.tick));
  if (gate === null || held + amount! < gate) return false;
  return !step.action.siblings.some((text) => {
    if (!/^\s*m/i.test(text)) return false; // most are no messages: do not split them
    const { name, format, fields } = parseCommand(text);
    return name === 'MESSAGE' && format === KEY_MESSAGE && namedAddress(step, fields[1] ?? '') === destination;
  });
}

/** Moves amounts to other addresses. Equal legs are one; a leg that fails stops no other. */
export const SEND = defineAction<Leg>({
  name: 'SEND',
  table: 'sends',
  formats: {
    0: 'TICK|AMOUNT|DESTINATION|MEMO',
    1: 'TICK|(AMOUNT|DESTINATION)+|MEMO',
    2: '(TICK|AMOUNT|DESTINATION)+|MEMO',
    3: '(TICK|AMOUNT|DESTINATION|MEMO)+'
  },
  plainFormats: [0],
  takesParts: true,
  read,
  checks: [
    tickUnknown,
    ['AMOUNT (format)', ({ amount }) => amount === null],
    ['DESTINATION (format)', ({ destination }, step) => ownAddress(step, destination) === null],
    sourceSleeps,
    tickSleeps,
    sourceExcluded,
    ['DESTINATION (not authorized)', ({ token, destination }, { ledger }) => isExcluded(ledger, token!, destination)],
    ...MEMO_CHECKS,
    [
      'MEMO (required)',
      ({ memo, destination }, { ledger }) => memo === '' && ledger.preferences(destination)?.requiresMemo === true
    ],
    [
      'insufficient funds',
      ({ token, amount }, { action, ledger }) => ledger.balance(token!.tick, action.source) < amount!
    ],
    ['gated token transfer requires key handoff message', lacksKey]
  ],
  row: ({ tick, token, amountText, amount, destination, memo, ordinal }, step) => ({
    tick_id: tickColumn(step, tick, token),
    destination_id: ownAddress(step, destination),
    amount: amount === null ? orNull(amountText) : formatAmount(amount),
    memo_id: orNull(memo),
    leg_ordinal: ordinal
  }),
  apply: ({ token, amount, destination }, { action, ledger, next }) => {
    const { tick } = token!;
    ledger.debit(token!, action.source, amount!);
    ledger.credit(token!, destination, amount!);
    if (hasDispenser(ledger, destination, tick))
      next.push(dispense({ payer: action.source, payee: destination, tick, amount: amount! }));
  }
});
