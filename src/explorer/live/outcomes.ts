import type { Coin } from '../coins.ts';
import type { Question } from '../question.ts';
import type { Row, SubjectActions } from './advance.ts';

/** A frame about one action. */
interface ActionFrame {
  /** The name by which `types` leaves it out or in. */
  readonly name: string;
  readonly type: string;
  readonly data: object;
}

/** Frames that tell what became of an offer or of a payment, by the action that says so. */
const OUTCOMES: Readonly<Record<string, string>> = {
  COINPAY: 'COINPAY_FULFILLED',
  COINPAY_EXPIRE: 'COINPAY_EXPIRED',
  ORDER_EXPIRE: 'ORDER_EXPIRED',
  SWAP_EXPIRE: 'SWAP_EXPIRED',
  DISPENSER_CLOSE: 'DISPENSER_CLOSED',
  DISPENSER_EXPIRE: 'DISPENSER_EXPIRED',
  BET_EXPIRE: 'BET_EXPIRED'
};
export const REQUIRED = 'COINPAY_REQUIRED';
/** Rows of a page, and pages of one block. */
const PAGE_ROWS = 100;
const MOST_PAGES = 10;

/** Returns an action as `NEW_ACTION` tells it. */
export const actionOf = ({ action_index, action, tx_hash, block_index, source }: Row) => ({
  action_index,
  action,
  tx_hash: tx_hash ?? null,
  block_index: String(block_index),
  source: source ?? null,
  status: null
});

/** Returns the frames of an action: one for itself, and one for what it ended and how. A refused action ended nothing. */
export function framesOf(row: Row): readonly ActionFrame[] {
  const record = actionOf(row);
  const name = String(row['action']);
  const isRefused = String(row['status'] ?? '').startsWith('invalid');
  const type = isRefused ? undefined : OUTCOMES[name];
  const status = type?.split('_').at(-1)?.toLowerCase();
  return [
    { name, type: 'NEW_ACTION', data: record },
    ...(type === undefined ? [] : [{ name: type, type, data: { ...record, status } }])
  ];
}

/**
 * Reads the frames of payments in the coin that are due since these matches. Of a block whose actions are not all
 * known, it reads all such payments.
 *
 * @param news new blocks @throws what the coin's `read` throws
 */
export async function readRequired(
  coin: Pick<Coin, 'read'>,
  { rows, isCut }: SubjectActions,
  news: readonly Row[]
): Promise<readonly ActionFrame[]> {
  const matched = rows.filter(({ action }) => action === 'ORDER_MATCH');
  const oldest = rows[0]?.block_index ?? Number.POSITIVE_INFINITY;
  const unknown = isCut ? news.filter(({ block_index: height }) => height <= oldest) : [];
  const blocks = new Set([...unknown, ...matched].map(({ block_index: height }) => height));
  const frames: ActionFrame[] = [];
  for (const height of blocks)
    for (const { action_index: index, payer_address, payee_address, coin_amount, expiration } of await obligationsOf(
      coin,
      height
    )) {
      const owed = { payer_address, payee_address, coin_amount, expiration };
      frames.push({
        name: REQUIRED,
        type: REQUIRED,
        data: { obligation_action_index: index, order_match_action_index: index, ...owed }
      });
    }
  return frames;
}

/** Reads what is to be paid since a block, the oldest first. @throws what the coin's `read` throws */
async function obligationsOf({ read }: Pick<Coin, 'read'>, height: number): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let page = 1; page <= MOST_PAGES; page++) {
    const question: Question = {
      method: 'coinpay_obligations',
      query: String(height),
      type: 'block',
      parameters: {},
      page,
      limit: PAGE_ROWS,
      order: 'asc',
      format: 'json'
    };
    const { data } = JSON.parse((await read(question)).body) as { data: Row[] };
    for (const row of data) rows.push(row);
    if (data.length < PAGE_ROWS) break;
  }
  return rows;
}
