/** The table that each action has its rows in, and the column that orders the rows of one. */
const TABLES: Readonly<Record<string, string>> = {
  ADDRESS: 'addresses',
  AIRDROP: 'airdrops',
  ATTEST: 'attests',
  BATCH: 'batches',
  BROADCAST: 'broadcasts',
  CALLBACK: 'callbacks',
  COINPAY: 'coinpays',
  COINPAY_EXPIRE: 'coinpay_expires',
  COLLECT: 'reward_claims',
  DELEGATE: 'delegations',
  DESTROY: 'destroys',
  DISPENSE: 'dispenses',
  DISPENSER: 'dispensers',
  DISPENSER_CANCEL: 'dispenser_cancels',
  DISPENSER_CLOSE: 'dispenser_closes',
  DISPENSER_EDIT: 'dispenser_edits',
  DISPENSER_EXPIRE: 'dispenser_expires',
  DIVIDEND: 'dividends',
  FILE: 'files',
  ISSUE: 'issues',
  LINK: 'links',
  LIST: 'lists',
  MESSAGE: 'messages',
  MINT: 'mints',
  ORDER: 'orders',
  ORDER_CANCEL: 'order_cancels',
  ORDER_EDIT: 'order_edits',
  ORDER_EXPIRE: 'order_expires',
  ORDER_MATCH: 'order_matches',
  PRICE: 'prices',
  SEND: 'sends',
  SLEEP: 'sleeps',
  STAKE: 'stakes',
  SWAP: 'swaps',
  SWAP_CANCEL: 'swap_cancels',
  SWAP_EDIT: 'swap_edits',
  SWAP_EXPIRE: 'swap_expires',
  SWAP_MATCH: 'swap_matches',
  SWEEP: 'sweeps',
  UNSTAKE: 'unstakes',
  VOTE: 'polls'
};
const VOTE_TABLES: Readonly<Record<number, string>> = { 1: 'votes', 2: 'poll_results', 3: 'vote_delegations' };

/** The table of an action's rows; undefined where it has none of its own. */
export function tableOf(action: string, format: number | null): string | undefined {
  return action === 'VOTE' ? (VOTE_TABLES[format ?? 0] ?? 'polls') : TABLES[action];
}

/** Order of the rows of one action, for tables whose order of writing is not the one. */
export const ORDER_OF_ROWS: Readonly<Record<string, string>> = {
  sends: 'leg_ordinal',
  destroys: 'leg_ordinal',
  poll_results: 'option_index',
  votes: 'choice'
};

const ADDRESS = 'index_addresses.address';
const TICK = 'index_tickers.tick';
/** Table and column of an id's text, by the end of the column's name. */
const TEXTS: readonly (readonly [end: RegExp, text: string])[] = [
  [/tick_id$|tick[12]_id$/, TICK],
  [/coin\d?_id$/, 'index_coins.coin'],
  [/memo_id$/, 'index_memos.memo'],
  [/status_id$/, 'index_statuses.status'],
  [/fiat_id$/, 'index_fiats.code'],
  [/pubkey_id$/, 'index_pubkeys.pubkey'],
  [/^type_id$/, 'index_mime_types.type'],
  [/^action_id$/, 'index_actions.action'],
  [/(source|destination|address|transfer|transfer_supply|owner|cancelled_by|submitter)_id$/, ADDRESS]
];

/** A column as SQL, with its text where it holds an id. */
export function columnSql(table: string, column: string): string {
  if (column === 'item_id') {
    const type = table === 'list_items_invalid' ? null : '1';
    if (type === null) return 't.item_id';
    const list = '(SELECT l.type FROM lists l WHERE l.action_index = t.action_index)';
    const text = (of: string) => idText(of, 't.item_id');
    return `IF(${list} = '${type}', ${text(TICK)}, ${text(ADDRESS)})`;
  }
  if (table.startsWith('mappings_') || table.startsWith('index_')) return `t.${column}`;
  const text = TEXTS.find(([end]) => end.test(column))?.[1];
  return text === undefined ? `t.${column}` : idText(text, `t.${column}`);
}

function idText(place: string, id: string): string {
  const [table, value] = place.split('.');
  return `(SELECT i.${value} FROM ${table} i WHERE i.id = ${id})`;
}
