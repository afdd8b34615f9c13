import { formatAmount, knownAmount } from '../../consensus/amount.ts';
import type { ExecutedBlock } from '../block/block.ts';
import { VALID } from '../rules/action-definition.ts';
import type { Columns, Value } from '../state/rows.ts';

/**
 * Table of what valid edits changed of offers: a row for each block that edited an offer, under its last such edit. NULL
 * keeps a term, the list 0 removes one.
 *
 * An owner may send any number of edits. Whoever reads an offer reads one row for each block of them.
 */
export const OFFER_EDITS = `CREATE TABLE IF NOT EXISTS offer_edits (
  offer BIGINT UNSIGNED NOT NULL,
  action_index BIGINT UNSIGNED NOT NULL,
  expiration BIGINT UNSIGNED NULL,
  allow_list BIGINT UNSIGNED NULL,
  block_list BIGINT UNSIGNED NULL,
  refills INT UNSIGNED NOT NULL,
  refilled DECIMAL(60,18) NOT NULL,
  refilled_at BIGINT UNSIGNED NULL,
  PRIMARY KEY (offer, action_index),
  KEY (action_index)
) ENGINE=InnoDB`;

/** Columns of `OFFER_EDITS`, in the order of `offerEditsOf`. */
export const OFFER_EDIT_COLUMNS = [
  'offer',
  'action_index',
  'expiration',
  'allow_list',
  'block_list',
  'refills',
  'refilled',
  'refilled_at'
] as const;

/** Columns of tables of edits that name the edited offer. */
const OFFER_COLUMNS: Readonly<Record<string, string>> = {
  dispenser_edits: 'dispenser_action_index',
  order_edits: 'order_action_index',
  swap_edits: 'swap_action_index'
};

/** Changes of an offer by the edits of one block. */
interface Edited {
  action: number;
  expiration: Value;
  allowList: Value;
  blockList: Value;
  refills: number;
  refilled: bigint;
  refilledAt: number | null;
}

/** Returns what the valid edits of a block changed of each offer. */
export function offerEditsOf({ rows }: Pick<ExecutedBlock, 'rows'>): Value[][] {
  const byOffer = new Map<number, Edited>();
  for (const { table, columns } of rows) {
    const column = OFFER_COLUMNS[table];
    if (column === undefined || columns['status_id'] !== VALID) continue;
    const offer = Number(columns[column]);
    const edited = merge(byOffer.get(offer), columns);
    if (edited) byOffer.set(offer, edited);
  }
  return [...byOffer].map(([offer, edited]) => [
    offer,
    edited.action,
    edited.expiration,
    edited.allowList,
    edited.blockList,
    edited.refills,
    formatAmount(edited.refilled),
    edited.refilledAt
  ]);
}

/** Adds an edit to those before it. It is undefined where none changed anything. */
function merge(before: Edited | undefined, columns: Columns): Edited | undefined {
  const value = (name: string): Value => columns[name] ?? null;
  const [expiration, allowList, blockList] = [value('expiration'), value('allow_list'), value('block_list')];
  const refilled = value('give_escrow') === null ? 0n : knownAmount(String(value('give_escrow')));
  if (expiration === null && allowList === null && blockList === null && refilled === 0n) return before;
  const action = Number(columns['action_index']);
  return {
    action,
    expiration: expiration ?? before?.expiration ?? null,
    allowList: allowList ?? before?.allowList ?? null,
    blockList: blockList ?? before?.blockList ?? null,
    refills: (before?.refills ?? 0) + Number(refilled > 0n),
    refilled: (before?.refilled ?? 0n) + refilled,
    refilledAt: refilled > 0n ? action : (before?.refilledAt ?? null)
  };
}

/** Statements that fill the table from the rows of an earlier release. */
export const FILL_OFFER_EDITS: readonly string[] = [
  'DELETE FROM offer_edits',
  ...(['order', 'swap', 'dispenser'] as const).map((kind) => {
    const newest = (column: string) => `SUBSTRING(MAX(CONCAT(LPAD(e.action_index, 20, '0'), e.${column})), 21)`;
    const added = kind === 'dispenser' ? 'COALESCE(CAST(e.give_escrow AS DECIMAL(60,18)), 0)' : '0';
    return `INSERT INTO offer_edits
      SELECT e.${kind}_action_index, MAX(e.action_index), ${['expiration', 'allow_list', 'block_list'].map(newest).join(', ')},
        SUM(${added} > 0), SUM(${added}), MAX(IF(${added} > 0, e.action_index, NULL))
      FROM ${kind}_edits e JOIN actions x ON x.action_index = e.action_index
      WHERE e.status_id = 1 AND (COALESCE(e.expiration, e.allow_list, e.block_list) IS NOT NULL OR ${added} > 0)
      GROUP BY e.${kind}_action_index, x.block_index`;
  })
];
