import { type Check, defineAction, NOT_ACTIVATED, type Step, statusText } from '../../rules/action-definition.ts';
import {
  hasLimits,
  LOOKS_OF_UNIT,
  MEMO_CHECKS,
  namedAddress,
  orNull,
  ownAddress,
  partChecks,
  readIndex,
  sourceSleeps
} from '../../rules/checks.ts';
import { LIST_OF_ADDRESSES, LIST_OF_TICKS, type ListHead } from '../../state/facts.ts';
import { memberKey, tickKey } from '../../state/keys.ts';
import { Members } from '../../state/members.ts';
import { memberRow } from '../../state/rows.ts';

interface ListAction {
  readonly type: string;
  readonly edit: string;
  /** List that is edited or given away; null when there is none. */
  readonly known: { readonly root: number; readonly head: ListHead } | null;
  readonly destination: string | null;
  readonly memo: string;
  readonly items: readonly string[];
}

const CREATE = 0;
const EDIT = 1;
const TRANSFER = 3;
/** Type of a list of lists, which is not built. */
const UNION = '3';
const ADD = '1';
/** `EDIT` of a LIST that removes items. */
export const REMOVE = '2';
/** Number of fields before the items, by format. */
const HEAD: Readonly<Record<number, number>> = { [CREATE]: 2, [EDIT]: 3 };

function read(step: Step): ListAction[] {
  const {
    action: { format, fields },
    ledger
  } = step;
  const { get } = fields;
  const listed = readIndex(get('LIST_ACTION_INDEX'));
  const found = listed === null ? null : ledger.listHead(listed);
  const known = found && { root: ledger.listRoot(listed!)!, head: found };
  const head = HEAD[format ?? CREATE];
  return [
    {
      type: get('TYPE'),
      edit: get('EDIT'),
      known,
      destination: namedAddress(step, get('DESTINATION')),
      memo: get('MEMO'),
      items: head === undefined ? [] : [...new Set(fields.all.slice(head).filter((item) => item !== ''))]
    }
  ];
}

interface Judged {
  /** Item as the list keeps it; null for a refused item. */
  readonly item: string | null;
  readonly refusal?: string;
}

function judgeItem(field: string, type: number, step: Step): Judged {
  const { ledger } = step;
  if (type === LIST_OF_TICKS) {
    const token = ledger.token(field);
    return token ? { item: token.tick } : { item: null, refusal: 'TICK (unknown)' };
  }
  const item = ownAddress(step, ledger.addressOf(field));
  return item === null ? { item, refusal: 'ADDRESS (format)' } : { item };
}

/** Returns each item once. An item that is given as text and as `^id` is one. */
function distinct(judged: readonly Judged[]): Judged[] {
  const first = new Map(judged.toReversed().map((one) => [one.item, one]));
  return judged.filter((one) => one.item === null || first.get(one.item) === one);
}

function writeItems({ known, type: typeText, edit, items }: ListAction, step: Step): void {
  const { action, ledger } = step;
  const type = known?.head.type ?? Number(typeText);
  const idOf = (item: string) =>
    type === LIST_OF_TICKS ? ledger.get('token', tickKey(item))!.id : ledger.memberId(item);
  if (type === LIST_OF_TICKS) ledger.requestTokens(items);
  else ledger.requestAddresses(items);
  const judged = distinct(items.map((item) => judgeItem(item, type, step)));
  const valid = new Set<string>();
  for (const { item, refusal } of judged) {
    const row = {
      action_index: action.index,
      item_id: item === null ? null : idOf(item),
      status_id: statusText(refusal)
    };
    ledger.record('list_edits', row);
    if (item === null) ledger.record('list_items_invalid', row);
    else valid.add(item);
  }
  const root = known?.root ?? action.index;
  ledger.set('listRoot', String(action.index), root);
  // The block keeps the members once after all its edits. Below the height of LIMITS each edit keeps them.
  if (known && hasLimits(step)) {
    editList(root, edit, valid, step);
    return;
  }
  const before = known && ledger.list(root)!.list;
  const former = before?.members ?? new Members();
  const members = edit === REMOVE ? former.without(valid) : former.with(valid);
  if (type === LIST_OF_TICKS) ledger.requestTokens([...members]);
  for (const item of members) ledger.rows.push(memberRow(action.index, idOf(item)));
  // An edit that leaves nobody keeps no members: who reads the list counts from the edit before.
  const changes = members.size > 0 ? 0 : (before?.changes ?? 0) + former.size;
  ledger.set('list', String(root), { type, owner: before?.owner ?? action.source, members, changes });
}

/** Adds items to a list, or removes them. No other member is read. */
function editList(root: number, edit: string, items: ReadonlySet<string>, { ledger }: Step): void {
  ledger.requestMembers(root, [...items]);
  const isRemoval = edit === REMOVE;
  const changed = [...items].filter((item) => ledger.isMember(root, item) === isRemoval);
  const { size, changes: before } = ledger.listCount(root);
  const changes = before + changed.length;
  const known = ledger.knownList(root);
  if (known) {
    const members = isRemoval ? known.members.without(changed) : known.members.with(changed);
    ledger.set('list', String(root), { ...known, members, changes });
    return;
  }
  for (const item of changed) ledger.set('member', memberKey(root, item), !isRemoval);
  ledger.set('listCount', String(root), { size: size + (isRemoval ? -1 : 1) * changed.length, changes });
}

function apply(leg: ListAction, step: Step): void {
  const { action, ledger } = step;
  if (action.format !== TRANSFER) {
    writeItems(leg, step);
    return;
  }
  const { root } = leg.known!;
  ledger.record('list_transfers', {
    action_index: action.index,
    list_action_index: root,
    destination_id: leg.destination
  });
  const [owner, list] = [leg.destination!, ledger.knownList(root)];
  if (list) ledger.set('list', String(root), { ...list, owner });
  else ledger.set('listHead', String(root), { ...leg.known!.head, owner });
}

/**
 * Returns whether items that are added may make a list longer than any block may look at. An AIRDROP to the list would
 * read all of it.
 */
function isTooLong({ known, edit, items }: ListAction, { ledger, limits }: Step): boolean {
  const most = limits.blockUnits * LOOKS_OF_UNIT.recipients;
  return edit === ADD && ledger.listCount(known!.root).size + items.length > most;
}

/** Returns a check that concerns some formats only. */
function of(formats: readonly number[], [status, fails]: Check<ListAction>): Check<ListAction> {
  return [status, (leg, step) => formats.includes(step.action.format ?? CREATE) && fails(leg, step)];
}

/** Makes or edits named sets of addresses or tickers. Items are judged one by one and never fail the action. */
export const LIST = defineAction<ListAction>({
  name: 'LIST',
  table: 'lists',
  formats: {
    [CREATE]: 'TYPE|MEMO|ITEM+',
    [EDIT]: 'EDIT|LIST_ACTION_INDEX|MEMO|ITEM+',
    [TRANSFER]: 'LIST_ACTION_INDEX|DESTINATION|MEMO'
  },
  read,
  checks: [
    of([CREATE], [NOT_ACTIVATED, ({ type }) => type === UNION]),
    of([CREATE], ['TYPE (unknown)', ({ type }) => ![LIST_OF_TICKS, LIST_OF_ADDRESSES].map(String).includes(type)]),
    of([EDIT], ['EDIT (unknown)', ({ edit }) => ![ADD, REMOVE].includes(edit)]),
    of([EDIT, TRANSFER], ['LIST_ACTION_INDEX (unknown)', ({ known }) => known === null]),
    of(
      [EDIT, TRANSFER],
      ['LIST_ACTION_INDEX (not owner)', ({ known }, { action }) => known!.head.owner !== action.source]
    ),
    of([TRANSFER], ['DESTINATION (unresolvable ^id)', ({ destination }) => destination === null]),
    of([TRANSFER], ['DESTINATION (format)', ({ destination }, step) => ownAddress(step, destination) === null]),
    sourceSleeps,
    ...MEMO_CHECKS,
    ...partChecks<ListAction>('ITEM', ({ items }) => items.length),
    of([EDIT], ['ITEM (limit)', isTooLong])
  ],
  row: ({ type, edit, known, memo }, { action }) => ({
    type: action.format === EDIT && known ? String(known.head.type) : orNull(type),
    edit: orNull(edit),
    list_action_index: known?.root ?? null,
    memo_id: orNull(memo)
  }),
  apply
});
