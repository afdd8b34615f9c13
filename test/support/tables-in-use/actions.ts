/** Movement of an action: none, or tokens in one of these ways. */
export type Moves = 'issue' | 'mint' | 'send' | 'burn' | 'lock' | 'release' | null;

/** One kind of action of an indexer: its rows, how many of each table, and what it moves. */
export interface ActionShape {
  readonly name: string;
  /** Frequency among all actions. */
  readonly weight: number;
  readonly moves: Moves;
  /** The system makes it: no transaction of its own. */
  readonly bySystem: boolean;
  /** Least and most rows, by table. */
  readonly tables: Readonly<Record<string, readonly [least: number, most: number]>>;
}

const ONE = [1, 1] as const;

function shape(name: string, weight: number, moves: Moves, tables: string, bySystem = false): ActionShape {
  const counts = tables.split(' ').map((text): [string, readonly [number, number]] => {
    const [table = '', least, most] = text.split(/[:-]/);
    return [table, least === undefined ? ONE : [Number(least), Number(most ?? least)]];
  });
  return { name, weight, moves, bySystem, tables: Object.fromEntries(counts) };
}

const system = (name: string, weight: number, moves: Moves, tables: string) => shape(name, weight, moves, tables, true);

/** A SEND to one address, without a fee. */
export const PLAIN_SEND = shape('SEND', 0, 'send', 'sends');

/** Every action that leaves rows. Together they reach every table that hangs on an action. */
export const ACTIONS: readonly ActionShape[] = [
  shape('SEND', 40, 'send', 'sends:1-4 fees:0-1'),
  shape('MINT', 14, 'mint', 'mints'),
  shape('ISSUE', 6, 'issue', 'issues fees:0-1'),
  shape('ORDER', 8, 'lock', 'orders order_statuses fees:0-1'),
  system('ORDER_MATCH', 6, 'release', 'order_matches order_statuses:1-2'),
  system('ORDER_EXPIRE', 2, 'release', 'order_expires order_statuses'),
  shape('ORDER_CANCEL', 1, 'release', 'order_cancels order_statuses'),
  shape('ORDER_EDIT', 1, null, 'order_edits'),
  shape('SWAP', 3, 'lock', 'swaps swap_statuses'),
  system('SWAP_MATCH', 2, 'release', 'swap_matches swap_statuses:2'),
  system('SWAP_EXPIRE', 1, 'release', 'swap_expires swap_statuses'),
  shape('SWAP_CANCEL', 1, 'release', 'swap_cancels swap_statuses'),
  shape('SWAP_EDIT', 1, null, 'swap_edits'),
  shape('DISPENSER', 4, 'lock', 'dispensers dispenser_statuses'),
  shape('DISPENSE', 6, 'release', 'dispenses'),
  shape('DISPENSER_CANCEL', 1, null, 'dispenser_cancels dispenser_statuses'),
  shape('DISPENSER_EDIT', 1, null, 'dispenser_edits'),
  system('DISPENSER_CLOSE', 1, 'release', 'dispenser_closes dispenser_statuses'),
  system('DISPENSER_EXPIRE', 1, 'release', 'dispenser_expires dispenser_statuses'),
  shape('COINPAY', 2, null, 'coinpays coinpay_obligations coinpay_statuses'),
  system('COINPAY_EXPIRE', 1, null, 'coinpay_expires coinpay_statuses'),
  shape('ADDRESS', 1, null, 'addresses'),
  shape('AIRDROP', 2, 'send', 'airdrops:1-3 fees'),
  shape('BATCH', 2, null, 'batches'),
  shape('BROADCAST', 3, null, 'broadcasts'),
  shape('CALLBACK', 1, 'send', 'callbacks fees'),
  shape('DESTROY', 2, 'burn', 'destroys:1-3'),
  shape('DIVIDEND', 2, 'send', 'dividends fees'),
  shape('FILE', 2, null, 'files mappings_files:1-2 gated_files:0-1'),
  shape('LINK', 1, null, 'links'),
  shape(
    'LIST',
    2,
    null,
    'lists list_items:1-20 list_edits:0-3 list_items_invalid:0-2 list_metas:0-1 list_transfers:0-1 list_share_mirrors:0-1'
  ),
  shape('MESSAGE', 4, null, 'messages'),
  shape('SLEEP', 1, null, 'sleeps'),
  shape('SWEEP', 1, 'send', 'sweeps'),
  shape('BET_FEED', 2, null, 'bet_feeds bet_feed_statuses'),
  shape('BET', 3, 'lock', 'bets bet_statuses'),
  shape('BET_CANCEL', 1, null, 'bet_cancels bet_feed_statuses'),
  shape('BET_EDIT', 1, null, 'bet_edits'),
  shape('BET_RESOLVE', 1, 'release', 'bet_resolves bet_feed_statuses bet_statuses:1-3'),
  shape('DEPLOY', 1, null, 'contracts contract_permissions deploy_chunks:0-1'),
  shape('EXECUTE', 5, null, 'contract_executions contract_emissions:0-3 contract_state:1-4'),
  shape('DEPOSIT', 2, 'send', 'deposits'),
  shape('WITHDRAW', 1, 'send', 'withdrawals'),
  shape('STAKE', 2, 'lock', 'stakes'),
  shape('CONTRACT_STAKE', 1, 'lock', 'contract_stakes'),
  shape('UNSTAKE', 1, null, 'unstakes'),
  shape('CONTRACT_UNSTAKE', 1, null, 'contract_unstakes'),
  shape('DELEGATE', 1, null, 'delegations stake_key_revocations:0-1'),
  shape('CONTRACT_DELEGATE', 1, null, 'contract_delegations'),
  shape('COLLECT', 1, 'send', 'reward_claims'),
  shape('PRICE', 2, null, 'prices'),
  shape('VOTE_POLL', 1, 'lock', 'polls'),
  shape('VOTE', 2, null, 'votes:1-3 vote_delegations:0-1'),
  shape('ATTEST', 2, null, 'attests'),
  shape('XCALL', 1, null, 'xcalls'),
  shape('XBRIDGE', 1, 'burn', 'xbridges'),
  system('CROSS_SETTLE', 1, 'mint', 'cross_chain_settlements bridge_settlements:0-1'),
  system('XEXEC', 1, null, 'cross_chain_call_executions cross_chain_call_callbacks:0-1'),
  shape('ANCHOR', 1, null, 'anchor_actions:1-3'),
  shape('NODEPROOF', 1, null, 'full_node_verifications'),
  shape('ROLLCALL', 1, null, 'rollcall_signers rollcalls rollcall_absences:0-1 rollcall_gates:0-1'),
  shape('CONTROLLER', 1, null, 'token_controllers address_controllers')
];

/** Actions in the order of their weights: an even draw from it is a weighted one. */
export const WEIGHTED: readonly ActionShape[] = ACTIONS.flatMap((action) => Array(action.weight).fill(action));
