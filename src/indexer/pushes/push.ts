import type { ExecutedBlock } from '../block/block.ts';
import { VALID } from '../rules/action-definition.ts';
import type { Columns } from '../state/rows.ts';

/** Methods of a hub that take pushes. */
const PUSH_METHODS = ['pushchaintip', 'pushpriceround', 'pushoracleprice', 'pushpricereorg'] as const;
/** Method of a hub that takes pushes. */
export type PushMethod = (typeof PUSH_METHODS)[number];

/** One call of a hub. */
export interface Push {
  readonly method: PushMethod;
  /** Index of the action that it reports; 0 for a tip. A rollback below it takes it back. */
  readonly actionIndex: number;
  readonly params: object;
}

/**
 * Chain that pushes, and how often it was rolled back. A hub refuses a push of an older generation about the same
 * thing.
 */
interface PushOrigin {
  /** `BTC`. */
  readonly coin: string;
  readonly generation: number;
}

/** Returns the push of the newest block. */
export function tipPush({ height, time }: ExecutedBlock['block'], coin: string, network: string): Push {
  const params = { coin, network, block_height: height, block_time: time };
  return { method: 'pushchaintip', actionIndex: 0, params };
}

/**
 * Returns the push that takes back the reports of all actions from an index on. The generation is the one that the
 * rollback began.
 */
export function retractionPush(firstAction: number, { coin, generation }: PushOrigin): Push {
  const params = { source_chain: coin, from_action_index: firstAction, retraction_generation: generation };
  return { method: 'pushpricereorg', actionIndex: firstAction, params };
}

/** Returns the pushes of the prices that valid actions of a block reported, in the order of the actions. */
export function pricePushes({ rows, block }: ExecutedBlock, { coin, generation }: PushOrigin): Push[] {
  return rows
    .filter(({ table, columns }) => table === 'prices' && columns['status_id'] === VALID)
    .map(({ columns }) => {
      const actionIndex = Number(columns['action_index']);
      const place = { source_chain: coin, action_index: actionIndex, push_generation: generation };
      const isRound = Number(columns['version']) === 0;
      return isRound
        ? { method: 'pushpriceround', actionIndex, params: { ...place, ...roundOf(columns, block.height) } }
        : { method: 'pushoracleprice', actionIndex, params: { ...place, ...priceOf(columns, block.time) } };
    });
}

function roundOf(columns: Columns, height: number) {
  return {
    round: Number(columns['round_number']),
    timestamp: Number(columns['round_timestamp']),
    btc_block_height: Number(columns['btc_block_height']),
    pairs: JSON.parse(String(columns['pairs_json'])) as unknown,
    sigs: JSON.parse(String(columns['sigs_json'])) as unknown,
    block_index: height
  };
}

function priceOf(columns: Columns, time: number) {
  const text = (name: string) => (columns[name] == null ? null : String(columns[name]));
  return {
    source_address: text('source'),
    coin: text('coin_id'),
    tick: text('tick'),
    fiat: text('fiat_id'),
    value: text('value'),
    fee: text('fee'),
    memo: text('memo_id'),
    block_time: time
  };
}
