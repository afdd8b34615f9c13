import { formatAmount } from '../../../src/consensus/amount.ts';
import type { ActionShape } from './actions.ts';
import { type BlockContext, CHAINS } from './block-context.ts';
import type { Row } from './rows.ts';

const UNIT = 10n ** 18n;

/** Writes the rows that an action leaves in its own tables, and its mappings. */
export async function addActionRows(context: BlockContext, action: ActionShape): Promise<void> {
  const { random } = context;
  for (const [table, [least, most]] of Object.entries(action.tables)) {
    for (let ordinal = 0, count = random.between(least, most); ordinal < count; ordinal += 1)
      context.add(table, await givenOf(context, table, ordinal));
  }
  const mappings = random.between(1, 3);
  for (let index = 0; index < mappings; index += 1) {
    const typeId = random.between(1, 2);
    const id = typeId === 1 ? context.pools.address() : context.pools.tick();
    context.add('mappings_actions', { type_id: typeId, id });
    // Equal rows occur: nothing there is unique.
    if (random.between(1, 5) === 1) context.add('mappings_actions', { type_id: typeId, id });
  }
}

/** Returns the values of a row that its block decides in columns that a later block changes, or that tell rows apart. */
export async function givenOf(context: BlockContext, table: string, ordinal: number): Promise<Row> {
  const { random, height, actionIndex, setting } = context;
  const { delay, cooldown } = CHAINS[setting.chain];
  const amount = formatAmount((BigInt(random.between(1, 10 ** 6)) * UNIT) / 4n);
  const isActive = { status_id: await context.status('valid'), amount, activation_block: height + delay };
  switch (table) {
    case 'sends':
    case 'destroys':
      return { leg_ordinal: ordinal };
    case 'stakes':
    case 'contract_stakes':
    case 'delegations':
    case 'contract_delegations':
      return { ...isActive, deactivation_block: null };
    case 'unstakes':
      return { status_id: isActive.status_id, amount, cooldown_end_block: height + cooldown };
    case 'contract_unstakes':
      return { status_id: isActive.status_id, amount, cooldown_end_block: height + random.between(1, 40) };
    case 'stake_key_revocations':
      return { deactivation_block: height + delay };
    case 'contracts':
      return {
        cooldown_blocks: random.between(1, 40),
        code: `return ${random.between(0, 9)}${' '.repeat(random.between(0, 300))}`
      };
    case 'contract_emissions':
      // An internal emission makes no action: it hangs on its execution alone.
      return {
        execution_index: actionIndex,
        action_index: random.between(0, 1) ? actionIndex : null,
        position: ordinal
      };
    case 'contract_state':
      return { contract_index: random.between(1, 5), state_key: `key ${random.pick(['a', 'A', 'b', 'é'])}` };
    case 'votes':
      return { poll_index: actionIndex, choice: ordinal, resolved_block: null };
    case 'polls':
      return OPEN_POLL;
    case 'attests':
      return { ...OPEN_REQUEST, ...OPEN_ATTEST, version: 0 };
    case 'xcalls':
      return { ...OPEN_REQUEST, version: 0, callback_action_index: null, result_status: null, result_payload: null };
    case 'bet_feeds':
      return { closed_block: null, terminal_block: null, feed_status_id: await context.status('open') };
    case 'bets':
      return { settled_block: null, bet_status_id: await context.status('open') };
    case 'anchor_actions':
      return anchorRow(context, ordinal);
    case 'rollcalls':
    case 'rollcall_signers':
    case 'rollcall_absences':
    case 'rollcall_gates':
      return { epoch_height: actionIndex };
    case 'full_node_verifications':
      return { epoch_height: actionIndex };
    case 'issues':
      return { tick_id: context.pools.tick() };
    default:
      return {};
  }
}

const OPEN_REQUEST = { request_status: 'pending', resolved_block: null } as const;
const OPEN_ATTEST = { callback_execute_action_index: null, batch_action_index: null, response_hash: null } as const;
const OPEN_POLL = {
  poll_status: 'open',
  winning_option: null,
  total_weight: null,
  resolved_block: null,
  callback_due_block: null,
  callback_execute_action_index: null,
  finalized_action_index: null
} as const;

/** Its `block_index` is the height of another chain; a chunk that continues an archive has none. */
function anchorRow({ random, height }: BlockContext, ordinal: number): Row {
  const heights = { section_index: ordinal, version: Math.min(ordinal, 2), block_index_doge: height };
  if (ordinal === 2) return { ...heights, block_index: null, chunk_index: 1, archive_b64: 'QQ=='.repeat(30) };
  return {
    ...heights,
    block_index: random.between(1, 3) === 1 ? height : 800_000 + random.between(0, 9_999),
    chunk_index: 0
  };
}

/** Adds the movements of an action, by its shape. */
export async function addMovements(context: BlockContext, { moves }: ActionShape, sourceId: number): Promise<void> {
  const { movements, actionIndex, random } = context;
  const amount = (BigInt(random.between(1, 10 ** 9)) * UNIT) / BigInt(random.pick([1, 2, 1000, 10 ** 9]));
  if (moves === 'issue' || moves === 'mint')
    return movements.credit(
      actionIndex,
      sourceId,
      moves === 'issue' ? await newToken(context, sourceId) : context.pools.tick(),
      amount
    );
  if (moves === null) return;
  const held = await findHolding(context);
  if (!held) return;
  const { addressId, tickId } = held;
  // Now and then a pair gives all that it has, and its balance goes.
  const part = random.between(1, 5) === 1 ? held.amount : held.amount / BigInt(random.between(2, 50)) + 1n;
  if (moves === 'release') {
    movements.escrow(actionIndex, context.pools.address(), tickId, -part);
    movements.credit(actionIndex, sourceId, tickId, part);
    return;
  }
  movements.debit(actionIndex, addressId, tickId, part);
  if (moves === 'lock') {
    movements.escrow(actionIndex, addressId, tickId, part);
    context.add('escrow_leaf_journal', { address_id: addressId, tick_id: tickId, locked_amount: formatAmount(part) });
  }
  if (moves !== 'send') return;
  const third = part / 3n;
  const to = context.pools.address();
  // Two legs to one address in equal amounts are equal rows.
  if (third > 0n && random.between(1, 3) === 1) {
    for (const amount of [third, third, part - 2n * third]) movements.credit(actionIndex, to, tickId, amount);
  } else movements.credit(actionIndex, to, tickId, part);
}

/** A pair that holds something; undefined where chance found none. */
async function findHolding(context: BlockContext) {
  const { movements, lookups, random } = context;
  for (let tries = 0; tries < 4; tries += 1) {
    const found = await movements.findPair(random.between(1, Math.max(1, lookups.highest('index_addresses'))));
    if (!found) continue;
    const amount = await movements.held(found.addressId, found.tickId);
    if (amount > 0n) return { ...found, amount };
  }
  return undefined;
}

/** A ticker of this block with its token. */
async function newToken(context: BlockContext, ownerId: number): Promise<number> {
  const { lookups, height, random, actionIndex } = context;
  const name = `${random.pick(['RARE', 'rare', 'x.y', 'A-b_c', '~T', '😀'])}${lookups.highest('index_tickers') + 1}`;
  const tickId = await lookups.idOf('index_tickers', name, height);
  context.add('tokens', tokenRow(tickId, actionIndex, ownerId));
  await context.flush(); // its supply is counted up from here
  return tickId;
}

/** A token as its first ISSUE leaves it. */
export function tokenRow(tickId: number, actionIndex: number, ownerId: number): Row {
  return {
    tick_id: tickId,
    action_index: actionIndex,
    last_action_index: actionIndex,
    owner_id: ownerId,
    supply: '0',
    max_supply: '0',
    decimals: 18,
    escrow_action_index: null,
    coin_price: '0',
    coin_floor: '0',
    bridge_chains: null,
    min_depth: null,
    bridged: 0,
    description: `token ${tickId}`
  };
}
