import { groupFields, groupWithMemo } from '../../../coin/action/fields.ts';
import { formatAmount } from '../../../consensus/amount.ts';
import { spent } from '../../fees/charge.ts';
import { type Check, defineAction, type Step } from '../../rules/action-definition.ts';
import {
  countLists,
  hasLimits,
  isBeyondShare,
  isExcluded,
  isSeenEnough,
  LOOKS_OF_HOLDING,
  lookAt,
  looksLeft,
  MEMO_CHECKS,
  mayAskLists,
  once,
  orNull,
  readAmount,
  readIndex,
  requestTransfers,
  seenCheck,
  sourceExcluded,
  sourceSleeps,
  tickColumn,
  tickSleeps,
  tickUnknown
} from '../../rules/checks.ts';
import { LIST_OF_ADDRESSES, LIST_OF_TICKS, type List, type ListHead } from '../../state/facts.ts';
import type { Token } from '../../state/token.ts';

/** Parts whose lists are read together, if these are short. */
const PARTS_AT_ONCE = 256;
/** Tokens whose holders are read together at first; then twice as many. */
const TICKS_AT_FIRST = 256;

interface Leg {
  readonly tick: string;
  readonly token: Token | null;
  readonly amountText: string;
  readonly amount: bigint | null;
  readonly listIndex: number | null;
  /** Head of the list; null for none. */
  readonly head: ListHead | null;
  /** Returns the list, which is there. It is read at the first call, and lists of later parts with it. */
  readonly list: (step: Step) => List;
  readonly memo: string;
  /** Returns the addresses of the list, or the holders of its tokens. They are read at the first call. */
  readonly named: (step: Step) => readonly string[];
  /** Returns those of them whom the lists of the token let have it. They are chosen at the first call. */
  readonly recipients: (step: Step) => readonly string[];
}

/** Returns TICK, AMOUNT, LIST_ACTION_INDEX and MEMO of each leg. */
function legsOf({ action: { format, fields } }: Step): string[][] {
  const { all } = fields;
  switch (format) {
    case 1: {
      const [list = '', ...rest] = all;
      return groupWithMemo(rest, 2).map((group) => group.toSpliced(-1, 0, list));
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
  requestTransfers(
    step,
    groups.map(([tick]) => [tick!, ''])
  );
  const indexes = groups.map(([, , list]) => readIndex(list!));
  ledger.requestListHeads(indexes.filter((index) => index !== null));
  const chosen: Chosen = new Map();
  return (groups.length > 0 ? groups : [['', '', '', '']]).map(([tick, amountText, , memo], at) => {
    const token = ledger.token(tick!);
    const listIndex = indexes[at] ?? null;
    const list = once((step: Step) => readList(indexes, at, step));
    const named = once((step: Step) => namedBy(list(step), step));
    return {
      tick: tick!,
      token,
      amountText: amountText!,
      amount: readAmount(amountText!, token),
      listIndex,
      head: listIndex === null ? null : ledger.listHead(listIndex),
      list,
      memo: memo!,
      named,
      recipients: once((step) => choose(named(step), token!, step, chosen))
    };
  });
}

/**
 * Returns the list of a part. The short lists of the parts behind it are requested with it, a long one when its part
 * comes: when the block has seen enough, it is not read.
 */
function readList(indexes: readonly (number | null)[], at: number, { ledger }: Step): List {
  const own = indexes[at]!;
  if (ledger.lacks([{ kind: 'list', key: String(ledger.listRoot(own)) }])) {
    const near = indexes.slice(at, at + PARTS_AT_ONCE).filter((index) => index !== null);
    ledger.requestLists([own, ...near.filter((index) => ledger.listHead(index)?.isLong === false)]);
  }
  return ledger.list(own)!.list;
}

/** Returns the recipients of a leg. An amount of 0 has none where the ledger has limits. */
function recipientsOf(leg: Leg, step: Step): readonly string[] {
  return leg.amount === 0n && hasLimits(step) ? [] : leg.recipients(step);
}

/** Returns the addresses that a leg looks at, as `recipientsOf` does. */
function lookedAt(leg: Leg, step: Step): readonly string[] {
  return leg.amount === 0n && hasLimits(step) ? [] : leg.named(step);
}

/**
 * Returns the length of a list that is longer than an action may be about; null for any other. No member is read: one
 * without a known size counts as short.
 */
function excessOf({ amount, head, listIndex }: Leg, step: Step): number | null {
  const most = step.limits.parts;
  if ((head!.size ?? 0) <= most || amount === 0n) return null;
  const { size } = step.ledger.listCount(step.ledger.listRoot(listIndex!)!);
  return size > most ? size : null;
}

/**
 * Returns the addresses of the list, or the holders of its tokens, once each. A list longer than an action may be about
 * is refused by its length, whoever holds its tokens.
 */
function namedBy(list: List, step: Step): readonly string[] {
  const isNamed = list.type === LIST_OF_ADDRESSES || list.members.size > step.limits.parts;
  return isNamed ? list.members.sorted : holdersOf(list, step);
}

/** Chosen addresses of all legs, by the addresses that were named and the lists of the token. */
type Chosen = Map<readonly string[], Map<string, readonly string[]>>;

/**
 * Returns the addresses whom the lists of a token let have it. Legs with the same lists share them. They count as looks
 * before a member is read: nobody is chosen where the block has not as many.
 */
function choose(named: readonly string[], token: Token, step: Step, chosen: Chosen): readonly string[] {
  const { ledger } = step;
  if (countLists(token) === 0) return named;
  const known = chosen.get(named) ?? new Map<string, readonly string[]>();
  chosen.set(named, known);
  const lists = `${token.allowList} ${token.blockList}`;
  const former = known.get(lists);
  if (former) return former;
  if (!mayAskLists(token, named, step)) return [];
  const found = named.filter((address) => !isExcluded(ledger, token, address));
  known.set(lists, found);
  return found;
}

/**
 * Returns the holders of the tokens of a list. Each token is a look at a recipient, and each holding is some, whether or
 * not it brings a new one. They are counted before they are read: none for whom the block has no look left.
 */
function holdersOf({ members }: List, step: Step): readonly string[] {
  const { ledger } = step;
  const ticks = members.sorted;
  const holders = new Set<string>();
  for (let at = 0, count = TICKS_AT_FIRST; at < ticks.length && !isSeenEnough('recipients', step); ) {
    const part = ticks.slice(at, at + count);
    const left = looksLeft('recipients', step);
    const holdings = ledger.holdersWithin(part, Math.floor((left - part.length) / LOOKS_OF_HOLDING));
    if (holdings === null) ledger.looks.recipients += left + 1;
    for (const held of holdings ?? []) {
      ledger.looks.recipients += 1 + LOOKS_OF_HOLDING * held.length;
      for (const { address } of held) holders.add(address);
    }
    [at, count] = [at + count, 2 * count];
  }
  return [...holders];
}

/** Returns whether the looks of an action were more than leave others their share. */
const isBeyondLooks = (step: Step) => !step.ledger.left.isLast && isSeenEnough('recipients', step);

/** Checks of the number of recipients. An address that the token bars costs the block a look as well. */
const RECIPIENT_CHECKS: readonly Check<Leg>[] = [
  seenCheck('RECIPIENTS'),
  [
    'RECIPIENTS (limit)',
    (leg, step) => {
      const excess = excessOf(leg, step);
      const length = excess ?? lookedAt(leg, step).length; // before they are added: to find them may count looks too
      lookAt(length, step);
      if (isBeyondLooks(step)) return false;
      const isForAll = countLists(leg.token!) === 0;
      return (excess !== null && isForAll) || recipientsOf(leg, step).length > step.limits.parts;
    }
  ],
  [
    'RECIPIENTS (block limit)',
    (leg, step) =>
      isBeyondLooks(step) ||
      ((leg.head!.type === LIST_OF_TICKS || countLists(leg.token!) > 0) && isSeenEnough('recipients', step)) ||
      isBeyondShare(recipientsOf(leg, step).length, step)
  ]
];

/** Gives the same amount to each of many addresses. Each leg stands alone. */
export const AIRDROP = defineAction<Leg>({
  name: 'AIRDROP',
  table: 'airdrops',
  formats: {
    0: 'TICK|AMOUNT|LIST_ACTION_INDEX|MEMO',
    1: 'LIST_ACTION_INDEX|(TICK|AMOUNT)+|MEMO',
    2: '(TICK|AMOUNT|LIST_ACTION_INDEX)+|MEMO',
    3: '(TICK|AMOUNT|LIST_ACTION_INDEX|MEMO)+'
  },
  takesParts: true,
  read,
  checks: [
    tickUnknown,
    ['AMOUNT (format)', ({ amount }) => amount === null],
    ['LIST_ACTION_INDEX (format)', ({ listIndex }) => listIndex === null],
    sourceSleeps,
    tickSleeps,
    ...MEMO_CHECKS,
    ['LIST (unknown)', ({ head }) => head === null],
    ['LIST TYPE (unsupported)', ({ head }) => ![LIST_OF_ADDRESSES, LIST_OF_TICKS].includes(head!.type)],
    sourceExcluded,
    [
      'insufficient funds',
      ({ token, amount }, { action, ledger }) => ledger.balance(token!.tick, action.source) < amount!
    ],
    ...RECIPIENT_CHECKS,
    [
      'insufficient funds (TICK)',
      (leg, step) =>
        step.ledger.balance(leg.token!.tick, step.action.source) < leg.amount! * BigInt(recipientsOf(leg, step).length)
    ]
  ],
  charges: (leg, step) => {
    const recipients = recipientsOf(leg, step).length;
    return { recipients, ...spent(leg.token!, leg.amount! * BigInt(recipients), step) };
  },
  row: ({ tick, token, amountText, amount, listIndex, memo }, step) => ({
    tick_id: tickColumn(step, tick, token),
    list_action_index: listIndex,
    amount: amount === null ? orNull(amountText) : formatAmount(amount),
    memo_id: orNull(memo)
  }),
  apply: (leg, step) => {
    const recipients = recipientsOf(leg, step);
    if (recipients.length === 0) return;
    step.ledger.requestCredits(leg.token!, recipients);
    step.ledger.debit(leg.token!, step.action.source, leg.amount! * BigInt(recipients.length));
    for (const recipient of recipients) step.ledger.credit(leg.token!, recipient, leg.amount!);
  }
});
