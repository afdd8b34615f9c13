import { formatAmount } from '../../consensus/amount.ts';
import type { Statements } from '../../db/connection.ts';
import type { ExecutedBlock } from '../block/block.ts';
import { VALID } from '../rules/action-definition.ts';
import { DECIDES } from './decisions.ts';
import { OFFER_EDIT_COLUMNS, offerEditsOf } from './offer-edits.ts';
import { tupleOf } from './row-encoder.ts';
import { insert } from './row-writer.ts';

/** Writes which actions of blocks decide facts, what they left of trades and changed of offers, and the numbers of lists. */
export async function writeDecisions(to: Statements, executed: readonly ExecutedBlock[]): Promise<void> {
  const deciding = executed.flatMap(decidingOf);
  await insert(to, 'deciding_actions', ['kind', 'subject', 'other', 'action_index'], deciding.map(tupleOf));
  const rests = executed.flatMap(({ rests }) =>
    rests.map(({ trade, action, giveLeft, getLeft }) => [trade, action, formatAmount(giveLeft), formatAmount(getLeft)])
  );
  await insert(to, 'trade_rests', ['trade', 'action_index', 'give_left', 'get_left'], rests.map(tupleOf));
  await insert(to, 'offer_edits', OFFER_EDIT_COLUMNS, executed.flatMap(offerEditsOf).map(tupleOf));
  const counts = executed.flatMap(({ listCounts }) =>
    listCounts.map(({ root, action, size, changes }) => [root, action, size, changes])
  );
  await insert(to, 'list_counts', ['list', 'action_index', 'members', 'changes'], counts.map(tupleOf));
}

type Deciding = readonly [kind: number, subject: number, other: number, action: number];

/** Returns the actions of a block that decide facts. */
function decidingOf({ rows, editedLists }: ExecutedBlock): Deciding[] {
  const found: Deciding[] = [];
  const sources = new Map<number, number>();
  const roots = new Map<number, number>();
  const kept = new Set<number>();
  const edited: (readonly [edit: number, item: number])[] = [];
  /** Votes of which each may have several rows. */
  const ballots = new Map<number, { readonly poll: number; readonly voter: number }>();
  const note = (kind: keyof typeof DECIDES, subject: number, action: number, other = 0) =>
    found.push([DECIDES[kind], subject, other, action]);
  for (const { table, columns } of rows) {
    const action = Number(columns['action_index']);
    if (table === 'actions') sources.set(action, Number(columns['source_id']));
    else if (table === 'list_items') kept.add(action);
    else if (columns['status_id'] !== VALID) continue;
    else if (table === 'lists' && columns['edit'] !== null) roots.set(action, Number(columns['list_action_index']));
    else if (table === 'list_edits') edited.push([action, Number(columns['item_id'])]);
    else if (table === 'sleeps' && columns['type'] === 1) note('sleep', sources.get(action)!, action);
    else if (table === 'vote_delegations')
      note('voteDelegation', Number(columns['tick_id']), action, Number(columns['delegator_address_id']));
    else if (table === 'votes')
      ballots.set(action, { poll: Number(columns['poll_index']), voter: Number(columns['voter_address_id']) });
    else if (table === 'dispensers') {
      const paid = Number(columns['get_address_id']);
      note('seller', paid, action);
      note('served', paid, action, sources.get(action)!);
    }
  }
  for (const [vote, { poll, voter }] of ballots) {
    note('ballot', poll, vote, voter);
    note('ballotOfAny', poll, vote);
  }
  for (const edit of kept) if (roots.has(edit)) note('keptList', roots.get(edit)!, edit);
  for (const [edit, item] of edited) if (roots.has(edit)) note('editedItem', roots.get(edit)!, edit, item);
  for (const [edit, root] of editedLists) note('editedList', root, edit);
  return found;
}
