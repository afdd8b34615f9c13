import { address, amountOrNull, bigOrNull, type Columns, integerOrNull, textOrNull, ticker } from './columns.ts';
import type { List } from './list.ts';
import { waysOf } from './ways.ts';
import { rowsById, status, timeOf, written } from './written.ts';

const [matches, settlements, xcalls, attests, stats, anchors, rewards, roots, prices, oracles] = [
  waysOf('cross_chain_matches', { key: 'id' }),
  waysOf('cross_chain_settlements'),
  waysOf('xcalls'),
  waysOf('attests'),
  waysOf('attest_validator_stats', { key: 'id' }),
  waysOf('anchor_actions'),
  waysOf('anchor_reward_attestations', { key: 'id' }),
  waysOf('state_tree_roots', { key: 'block_index' }),
  waysOf('price_snapshots', { key: 'id' }),
  waysOf('oracle_prices', { key: 'id' })
];
const text = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, textOrNull(`t.${name}`)]));
const big = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, bigOrNull(`t.${name}`)]));
const whole = (...names: string[]): Columns =>
  Object.fromEntries(names.map((name) => [name, integerOrNull(`t.${name}`)]));
const sideOf = (side: 'a' | 'b'): Columns => ({
  ...text(`${side}_chain`, `${side}_kind`, `${side}_tick`, `${side}_payout_addr`),
  ...big(`${side}_action_index`),
  ...whole(`${side}_ownership`),
  [`${side}_amount`]: amountOrNull(`t.${side}_amount`),
  [`${side}_filled_before`]: amountOrNull(`t.${side}_filled_before`)
});

/** Rows that come between blocks of the ledger. */
const FED = { changesBetweenBlocks: true } as const;

/** Content of a block that validators signed. */
const CHECKPOINT: Columns = {
  ...text('chain', 'network', 'block_hash', 'ledger_hash', 'actions_hash', 'contract_hash'),
  ...text('state_root', 'block_merkle_root'),
  ...big('checkpoint_seq', 'snapshot_block'),
  ...whole('state_root_version', 'block_merkle_version')
};
const checkpointHas = (value: string) => `(SELECT ${value} FROM state_checkpoints c
  WHERE c.chain = t.chain AND c.network = t.network AND c.block_index = t.block_index ORDER BY c.id DESC LIMIT 1)`;

/** The lists of what passes between chains, and of what validators agreed on, by their methods. */
export const CHAIN_LISTS = {
  price_snapshots: rowsById(
    'price_snapshots',
    'Prices that validators agreed on',
    {
      ...big('id', 'round_number', 'reference_block', 'block_timestamp'),
      ...text('coin_pair', 'price', 'reference_chain', 'consensus_proof', 'status', 'created_at'),
      ...whole('validator_count', 'consensus_round')
    },
    {
      types: {
        pair: prices.own('word', 'coin_pair'),
        round: prices.own('action', 'round_number'),
        status: prices.own('word', 'status')
      },
      all: prices.all,
      ...FED
    }
  ),
  oracle_prices: rowsById(
    'oracle_prices',
    'Prices that oracles said',
    {
      ...big('id', 'block_time', 'effective_at', 'action_index'),
      ...text('source_address', 'source_chain', 'coin', 'tick', 'fiat', 'memo', 'created_at'),
      value: amountOrNull('t.value'),
      fee: amountOrNull('t.fee')
    },
    {
      types: { token: oracles.own('word', 'tick'), address: oracles.own('spelling', 'source_address') },
      all: oracles.all,
      ...FED
    }
  ),
  cross_chain_matches: rowsById(
    'cross_chain_matches',
    'Offers of two chains that met',
    {
      ...big('id', 'snapshot_block', 'effective_time'),
      ...text('match_id', 'network', 'status', 'batch_root', 'anchor_txid', 'validator_signatures', 'created_at'),
      ...whole('finalizing_view'),
      ...sideOf('a'),
      ...sideOf('b')
    },
    {
      types: {
        match: matches.own('word', 'match_id'),
        block: matches.own('height', 'snapshot_block'),
        status: matches.own('word', 'status')
      },
      all: matches.all,
      ...FED
    }
  ),
  cross_chain_settlements: rowsById(
    'cross_chain_settlements',
    'Matches of two chains that this one settled',
    {
      ...big('action_index', 'local_action_index', 'block_index'),
      ...text('match_id'),
      timestamp: timeOf('t.block_index')
    },
    {
      types: { match: settlements.own('word', 'match_id'), block: settlements.own('height', 'block_index') },
      all: settlements.all
    },
    'action_index'
  ),
  xcalls: written(
    'xcalls',
    'Calls of contracts of other chains',
    {
      ...whole('version', 'cross_hops'),
      ...text('call_id', 'target_chain', 'method', 'callback_method', 'request_status', 'result_status'),
      ...big('contract_index', 'target_contract_index', 'gas_limit', 'deadline_block', 'resolved_block'),
      ...big('callback_action_index'),
      status
    },
    {
      types: {
        block: xcalls.own('height', 'block_index'),
        contract: xcalls.own('action', 'contract_index'),
        status: xcalls.own('word', 'request_status')
      },
      all: xcalls.all
    }
  ),
  attestations: written(
    'attests',
    'Questions to validators, and their answers',
    {
      ...whole('version'),
      ...text('request_id', 'provider_id', 'payload', 'callback_params_json', 'request_status'),
      ...text('response_payload', 'response_status'),
      ...big('contract_index'),
      fee_payer: address('t.fee_payer_id'),
      fee_tick: ticker('t.fee_tick_id'),
      fee_amount: amountOrNull('t.fee_amount'),
      gas_escrow: amountOrNull('t.gas_escrow'),
      status
    },
    {
      types: {
        block: attests.own('height', 'block_index'),
        address: attests.own('address', 'fee_payer_id'),
        contract: attests.own('action', 'contract_index')
      },
      all: attests.all
    }
  ),
  attest_validator_stats: rowsById(
    'attest_validator_stats',
    'Lists how validators answered',
    {
      ...big('id', 'fulfilled_count', 'missed_count', 'slashed_count', 'last_updated_block'),
      ...text('validator_pubkey', 'provider_id', 'quality_score')
    },
    {
      types: { pubkey: stats.own('word', 'validator_pubkey'), provider: stats.own('word', 'provider_id') },
      all: stats.all,
      ...FED
    }
  ),
  anchors: written(
    'anchor_actions',
    'Checkpoints that were written into a chain',
    {
      ...CHECKPOINT,
      ...whole('version', 'match_count', 'total_chunks', 'chunk_index'),
      ...big('match_batch_seq', 'block_index_doge'),
      ...text('batch_crc32', 'validator_signatures'),
      status
    },
    {
      types: {
        block: anchors.own('height', 'block_index'),
        chain: anchors.own('word', 'chain'),
        network: anchors.own('word', 'network'),
        status: anchors.texts('status_id', 'status')
      },
      all: anchors.shared
    },
    ['t.section_index']
  ),
  anchor_reward_attestations: rowsById(
    'anchor_reward_attestations',
    'Rewards for checkpoints that were written',
    {
      ...big('id', 'round_reference', 'snapshot_block'),
      ...text('chain', 'network', 'reward_type', 'publisher', 'doge_anchor_txid', 'created_at'),
      reward_amount: amountOrNull('t.reward_amount')
    },
    {
      types: {
        anchor: rewards.own('word', 'doge_anchor_txid'),
        block: rewards.own('height', 'snapshot_block'),
        pubkey: rewards.own('word', 'publisher')
      },
      all: rewards.all,
      ...FED
    }
  ),
  commitments: rowsById(
    'state_tree_roots',
    'Roots of the state after each block',
    {
      ...big('block_index'),
      ...text('balances_root', 'stakes_root', 'state_root', 'block_merkle_root', 'contract_state_root', 'computed_at'),
      anchor_action_index: bigOrNull('NULL'),
      anchor_version: integerOrNull('NULL'),
      checkpoint_seq: bigOrNull(checkpointHas('c.checkpoint_seq')),
      checkpoint_snapshot_block: bigOrNull(checkpointHas('c.snapshot_block')),
      checkpoint_signer_count: integerOrNull(checkpointHas('JSON_LENGTH(c.validator_signatures)')),
      checkpoint_created_at: textOrNull(checkpointHas('c.created_at'))
    },
    { types: { block: roots.own('height', 'block_index') }, all: roots.all, ...FED },
    'block_index'
  )
} as const satisfies Readonly<Record<string, List>>;
