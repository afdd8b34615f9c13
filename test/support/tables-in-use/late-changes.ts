import { formatAmount, parseAmount } from '../../../src/consensus/amount.ts';
import { rows } from '../../../src/db/connection.ts';
import { type BlockContext, CHAINS } from './block-context.ts';
import type { DecoderLateKind } from './decoder-late-changes.ts';
import type { Row, Value } from './rows.ts';
import { hex } from './values.ts';

/** A row of an older block, or of no block, that a block wrote, changed or deleted. */
export interface Change {
  readonly kind: LateKind | DecoderLateKind;
  readonly table: string;
  /** Columns and values that name the row. */
  readonly key: Row;
  /** The block that the row belongs to; null for rows of tables without blocks. */
  readonly block: number | null;
}

/** Change of a row that is there already: returns the row's columns, or null where the row goes. */
type Edit = (context: BlockContext, row: Readonly<Record<string, Value>>) => Promise<Row> | Row;
type Beside = (context: BlockContext, row: Readonly<Record<string, Value>>) => Promise<void> | void;

interface InPlace {
  readonly table: string;
  /** Condition of the candidate rows; `:height` stands for the block's. */
  readonly where: string;
  readonly edit: Edit;
  /** Further rows that the block writes because of it. */
  readonly beside?: Beside;
}

const deactivate: Edit = ({ height, setting }) => ({ deactivation_block: height + CHAINS[setting.chain].delay });
const cut: Edit = () => ({ amount: '0' });

function slashed(target: string): Beside {
  const ofContract = target.startsWith('contract_');
  return (context, row) => {
    const log = {
      target_table: target,
      stake_action_index: row['action_index']!,
      prev_amount: row['amount']!,
      amount: '0'
    };
    if (ofContract) {
      context.add('contract_slash_debits', { ...log, execution_index: context.actionIndex, slash_position: 0 });
      context.add('slash_events', { execution_index: context.actionIndex });
    } else {
      context.add('capability_slash_debits', { ...log, slash_action_index: context.actionIndex });
      context.add('capability_slash_events', { slash_action_index: context.actionIndex });
    }
  };
}

function rotated(target: string): Beside {
  return (context, row) =>
    context.add('contract_delegation_rotations', {
      target_table: target,
      stake_action_index: row['action_index']!,
      delegation_action_index: context.actionIndex,
      prev_signing_pubkey_id: row['signing_pubkey_id']!,
      new_signing_pubkey_id: Number(row['signing_pubkey_id']) + 1
    });
}

/** The refund: new rows under the old action. */
const refunded: Beside = async (context, row) => {
  const amount = parseAmount(String(row['amount'])) ?? 0n;
  const tick = Number(row['tick_id'] ?? 1);
  const [action, source] = [Number(row['action_index']), Number(row['source_id'])];
  context.movements.escrow(action, source, tick, -amount);
  context.movements.credit(action, source, tick, amount);
};

const matured = {
  edit: async (context: BlockContext) => ({ status_id: await context.status('completed') }),
  beside: refunded
};
const planned = (context: BlockContext) => context.status('planned');

/** Changes in place of rows that hang on an action. */
const IN_PLACE = {
  cooldownRefund: { table: 'unstakes', where: 'cooldown_end_block = :height AND status_id = :planned', ...matured },
  contractRefund: {
    table: 'contract_unstakes',
    where: 'cooldown_end_block = :height AND status_id = :planned',
    ...matured
  },
  stakeDeactivated: { table: 'stakes', where: 'deactivation_block IS NULL', edit: deactivate },
  contractStakeDeactivated: { table: 'contract_stakes', where: 'deactivation_block IS NULL', edit: deactivate },
  delegationDeactivated: { table: 'delegations', where: 'deactivation_block IS NULL', edit: deactivate },
  contractDelegationDeactivated: {
    table: 'contract_delegations',
    where: 'deactivation_block IS NULL',
    edit: deactivate
  },
  stakeSlashed: { table: 'stakes', where: "amount <> '0'", edit: cut, beside: slashed('stakes') },
  unstakeSlashed: {
    table: 'unstakes',
    where: "amount <> '0' AND status_id <> :planned",
    edit: cut,
    beside: slashed('unstakes')
  },
  contractStakeSlashed: {
    table: 'contract_stakes',
    where: "amount <> '0'",
    edit: cut,
    beside: slashed('contract_stakes')
  },
  contractUnstakeSlashed: {
    table: 'contract_unstakes',
    where: "amount <> '0' AND status_id <> :planned",
    edit: cut,
    beside: slashed('contract_unstakes')
  },
  contractStakeRotated: {
    table: 'contract_stakes',
    where: '1',
    beside: rotated('contract_stakes'),
    edit: (_, row) => ({ signing_pubkey_id: Number(row['signing_pubkey_id']) + 1 })
  },
  contractUnstakeRotated: {
    table: 'contract_unstakes',
    where: 'status_id <> :planned',
    beside: rotated('contract_unstakes'),
    edit: (_, row) => ({ signing_pubkey_id: Number(row['signing_pubkey_id']) + 1 })
  },
  pollFinalized: {
    table: 'polls',
    where: "poll_status = 'open'",
    edit: ({ height, actionIndex }) => ({
      poll_status: 'finalized',
      winning_option: 1,
      total_weight: '12.5',
      total_voters: 3,
      quorum_met: 1,
      resolved_block: height,
      effective_close_block: height,
      finalized_action_index: actionIndex
    }),
    beside: (context, row) => {
      for (const option_index of [0, 1])
        context.add('poll_results', { poll_index: row['action_index']!, option_index });
    }
  },
  pollCalledBack: {
    table: 'polls',
    where: "poll_status = 'finalized' AND callback_execute_action_index IS NULL",
    edit: ({ height, actionIndex }) => ({ callback_due_block: height, callback_execute_action_index: actionIndex })
  },
  attestResolved: {
    table: 'attests',
    where: "request_status = 'pending'",
    edit: ({ height }) => ({ request_status: 'fulfilled', resolved_block: height })
  },
  attestCalledBack: {
    table: 'attests',
    where: 'callback_execute_action_index IS NULL',
    edit: ({ actionIndex }) => ({ callback_execute_action_index: actionIndex })
  },
  attestLinkedToBatch: {
    table: 'attests',
    where: 'batch_action_index IS NULL',
    edit: ({ actionIndex }) => ({ batch_action_index: actionIndex })
  },
  attestHeadJudged: { table: 'attests', where: 'status_id IS NULL OR status_id <> :wrong', edit: wrong },
  xcallResolved: {
    table: 'xcalls',
    where: "request_status = 'pending'",
    edit: ({ height }) => ({ request_status: 'done', result_status: 'ok', resolved_block: height })
  },
  xcallCalledBack: {
    table: 'xcalls',
    where: 'callback_action_index IS NULL',
    edit: ({ actionIndex }) => ({ callback_action_index: actionIndex })
  },
  betFeedClosed: {
    table: 'bet_feeds',
    where: 'closed_block IS NULL',
    edit: ({ height }) => ({ closed_block: height })
  },
  betFeedEnded: {
    table: 'bet_feeds',
    where: 'terminal_block IS NULL',
    edit: ({ height }) => ({ terminal_block: height })
  },
  betSettled: {
    table: 'bets',
    where: 'settled_block IS NULL',
    edit: async (context) => ({ settled_block: context.height, bet_status_id: await context.status('settled') })
  },
  anchorHeadJudged: {
    table: 'anchor_actions',
    where: 'section_index = 1 AND (status_id IS NULL OR status_id <> :wrong)',
    edit: wrong
  },
  tokenIssuedAgain: {
    table: 'tokens',
    where: '1',
    edit: ({ actionIndex, height }) => ({ last_action_index: actionIndex, description: `described at ${height} é` }),
    beside: (context, row) =>
      context.add('issues', { tick_id: row['tick_id']!, description: `described at ${context.height} é` })
  },
  tokenEscrowed: {
    table: 'tokens',
    where: 'escrow_action_index IS NULL',
    edit: ({ actionIndex }) => ({ escrow_action_index: actionIndex })
  },
  tokenPriced: { table: 'tokens', where: '1', edit: ({ serial }) => ({ coin_price: `0.${serial()}1` }) },
  tokenBridged: {
    table: 'tokens',
    where: 'bridged = 0',
    edit: () => ({ bridged: 1, bridge_chains: 'LTC', min_depth: 12 })
  },
  tokenSupplied: {
    table: 'tokens',
    where: '1',
    edit: () => ({}),
    beside: (context, row) =>
      context.movements.credit(context.actionIndex, context.pools.address(), Number(row['tick_id']), 10n ** 17n)
  }
} as const satisfies Readonly<Record<string, InPlace>>;

async function wrong(context: BlockContext): Promise<Row> {
  return { status_id: await context.status('invalid: CHUNK (wrong)') };
}

type Other = (context: BlockContext, depth: number) => Promise<Omit<Change, 'kind'> | null>;

/** Late rows that are no change of a row that hangs on an action. */
const OTHERS = {
  /** Earned in an earlier block than the one that writes it. */
  rewardBackdated: async (context, depth) => {
    const block = context.height - depth;
    const key = { reward_type: 'anchor', round_reference: context.serial() };
    const by = { derive_block_index: context.height, source_id: context.pools.address() };
    context.add('validator_rewards', { ...key, ...by, round_qualifier: 0, block_index: block });
    return { table: 'validator_rewards', key, block };
  },
  rewardDeleted: async (context, depth) => {
    const [row] = await rows<Record<string, Value>>(
      context.setting.connection,
      'SELECT * FROM validator_rewards WHERE block_index <= ? ORDER BY block_index DESC, id DESC LIMIT 1',
      [context.height - depth]
    );
    if (!row) return null;
    await context.setting.connection.query('DELETE FROM validator_rewards WHERE id = ?', [row['id']]);
    const { source_id, signing_pubkey_id, reward_type, round_reference, round_qualifier, amount } = row as Row;
    context.add('anchor_reward_reconcile_log', {
      ...({ source_id, signing_pubkey_id, reward_type, round_reference, round_qualifier, amount } as Row),
      ...({ reward_block_index: row['block_index'], reward_derive_block_index: row['derive_block_index'] } as Row),
      anchor_action_index: context.actionIndex
    });
    return { table: 'validator_rewards', key: { id: row['id']! }, block: Number(row['block_index']) };
  },
  validatorCounted: async (context) => {
    const key = { validator_pubkey: hex(`validator ${context.random.between(1, 9)}`), provider_id: 'rates' };
    await context.setting.connection.query(
      `INSERT INTO attest_validator_stats (validator_pubkey, provider_id, fulfilled_count, last_updated_block) VALUES (?, ?, 1, ?)
       ON DUPLICATE KEY UPDATE fulfilled_count = fulfilled_count + 1, last_updated_block = VALUES(last_updated_block)`,
      [key.validator_pubkey, key.provider_id, context.height]
    );
    return { table: 'attest_validator_stats', key, block: null };
  },
  /** A pair that gives away all that it has. */
  balanceEmptied: async (context, depth) => {
    const pair = await context.movements.findPair(addressOfDepth(context, depth));
    if (!pair) return null;
    const { addressId, tickId } = pair;
    const amount = await context.movements.held(addressId, tickId);
    if (amount <= 0n) return null;
    context.movements.debit(context.actionIndex, addressId, tickId, amount);
    context.movements.credit(context.actionIndex, 1, tickId, amount);
    return { table: 'balances', key: { address_id: addressId, tick_id: tickId }, block: null };
  },
  marketMoved: async (context) => {
    const [row] = await rows<{ id: number }>(
      context.setting.connection,
      'SELECT id FROM markets ORDER BY last_updated, id LIMIT 1'
    );
    if (!row) return null;
    const price = formatAmount(BigInt(context.serial()) * 10n ** 12n);
    await context.setting.connection.query(
      'UPDATE markets SET tick1_price = ?, tick2_price = ?, last_updated = ? WHERE id = ?',
      [price, price, context.time, row.id]
    );
    return { table: 'markets', key: { id: Number(row.id) }, block: null };
  }
} as const satisfies Readonly<Record<string, Other>>;

export type LateKind = keyof typeof IN_PLACE | keyof typeof OTHERS;

/** Every kind of late change that indexers in use make. */
export const LATE_KINDS = [...Object.keys(IN_PLACE), ...Object.keys(OTHERS)] as readonly LateKind[];

/** Older addresses have lower ids. */
function addressOfDepth({ height, lookups }: BlockContext, depth: number): number {
  return Math.max(1, Math.floor(lookups.highest('index_addresses') * (1 - depth / height)));
}

/** One late change of one kind, as deep as asked or a little deeper. @returns null where no row can be changed so */
export async function changeLate(context: BlockContext, kind: LateKind, depth: number): Promise<Change | null> {
  await context.flush();
  const other = (OTHERS as Readonly<Record<string, Other>>)[kind];
  if (other) {
    const found = await other(context, depth);
    return found && { kind, ...found };
  }
  return changeInPlace(context, kind as keyof typeof IN_PLACE, depth);
}

async function changeInPlace(
  context: BlockContext,
  kind: keyof typeof IN_PLACE,
  depth: number
): Promise<Change | null> {
  const { table, where, edit, beside }: InPlace = IN_PLACE[kind];
  const { connection } = context.setting;
  const condition = await fill(context, where);
  const [row] = await rows<Record<string, Value>>(
    connection,
    `SELECT t.*, a.block_index AS of_block FROM ${table} t JOIN actions a USING (action_index)
     WHERE (${condition}) AND action_index <= (SELECT COALESCE(MAX(action_index), 0) FROM actions WHERE block_index =
       (SELECT MAX(block_index) FROM actions WHERE block_index <= ${context.height - depth}))
     ORDER BY action_index DESC LIMIT 1`
  );
  if (!row) return null;
  const columns = await edit(context, row);
  const key: Row = {
    action_index: row['action_index']!,
    ...('section_index' in row ? { section_index: row['section_index']! } : {})
  };
  const assignments = Object.keys(columns).map((name) => `${name} = ?`);
  const keys = Object.keys(key).map((name) => `${name} = ?`);
  if (assignments.length > 0)
    await connection.query(`UPDATE ${table} SET ${assignments.join(', ')} WHERE ${keys.join(' AND ')}`, [
      ...Object.values(columns),
      ...Object.values(key)
    ]);
  await beside?.(context, row);
  return { kind, table, key, block: Number(row['of_block']) };
}

/** Refunds everything that cools down until this block. */
export async function matureCooldowns(context: BlockContext): Promise<Change[]> {
  const changes: Change[] = [];
  for (const [kind, table] of [
    ['cooldownRefund', 'unstakes'],
    ['contractRefund', 'contract_unstakes']
  ] as const) {
    const found = await rows<Record<string, Value>>(
      context.setting.connection,
      `SELECT t.*, a.block_index AS of_block FROM ${table} t JOIN actions a USING (action_index)
       WHERE cooldown_end_block = ${context.height} AND status_id = ${await context.status('valid')} ORDER BY action_index`
    );
    for (const row of found) {
      const { status_id } = await matured.edit(context);
      const key = { action_index: row['action_index']! };
      await context.setting.connection.query(`UPDATE ${table} SET status_id = ? WHERE action_index = ?`, [
        status_id,
        key.action_index
      ]);
      await refunded(context, row);
      context.hasActions = true;
      changes.push({ kind, table, key, block: Number(row['of_block']) });
    }
  }
  return changes;
}

async function fill(context: BlockContext, where: string): Promise<string> {
  const ids = {
    ':height': String(context.height),
    ':planned': String(await planned(context)),
    ':wrong': String((await wrong(context))['status_id'])
  };
  return where.replace(/:(height|planned|wrong)/g, (name) => ids[name as keyof typeof ids]);
}
