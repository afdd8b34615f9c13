import {
  address,
  amountOrNull,
  bigOrNull,
  type Columns,
  integerOrNull,
  looked,
  textOrNull,
  ticker
} from './columns.ts';
import type { List } from './list.ts';
import { waysOf } from './ways.ts';
import { byPubkey, rowsById, status, timeOf, written } from './written.ts';

const amount = amountOrNull('t.amount');
const signer = looked('index_pubkeys', 't.signing_pubkey_id', 'the key that a validator signs with');
const SPAN: Columns = {
  activation_block: bigOrNull('t.activation_block'),
  deactivation_block: bigOrNull('t.deactivation_block')
};
const OF_CONTRACT: Columns = { target_contract_index: bigOrNull('t.target_contract_index'), tick: ticker('t.tick_id') };

/** Returns a list of stakers' actions, by their block or their own source. */
function staked(table: string, summary: string, columns: Columns, withSource = true): List {
  const { own, all } = waysOf(table);
  const source = own('address', 'source_id');
  return written(
    table,
    summary,
    { ...columns, source: address('t.source_id'), status },
    {
      types: {
        block: own('height', 'block_index'),
        address: source,
        ...(withSource ? { source } : { contract: own('action', 'target_contract_index') })
      },
      all
    }
  );
}

const [rewards, verifications, slashes, abilities, shots] = [
  waysOf('validator_rewards', { key: 'id' }),
  waysOf('full_node_verifications', { key: 'id' }),
  waysOf('slash_events', { key: 'id' }),
  waysOf('capability_slash_events', { key: 'id' }),
  waysOf('capability_snapshots', { key: 'id' })
];
const stake: Columns = { version: integerOrNull('t.version'), signing_pubkey: signer, amount, ...SPAN };
const cooling: Columns = { signing_pubkey: signer, amount, cooldown_end_block: bigOrNull('t.cooldown_end_block') };
/** Later blocks write into stakes: which key signs, and until when. */
const stakes = staked('stakes', 'Stakes of validators', stake);

/** The lists of validators, their stakes and rewards, by their methods. */
export const STAKE_LISTS = {
  stakes,
  validators: { ...stakes, summary: 'Stakes of validators, as `stakes`', types: {} },
  unstakes: staked('unstakes', 'Stakes that are given back', cooling),
  delegations: staked('delegations', 'Keys that stakers named', { signing_pubkey: signer, ...SPAN }),
  delegation_revocations: staked('stake_key_revocations', 'Keys that stakers took back', {
    signing_pubkey: signer,
    deactivation_block: bigOrNull('t.deactivation_block')
  }),
  collects: staked('reward_claims', 'Rewards that were collected', { amount }),
  contract_stakes: staked('contract_stakes', 'Stakes on contracts', { ...stake, ...OF_CONTRACT }, false),
  contract_unstakes: staked(
    'contract_unstakes',
    'Stakes on contracts that are given back',
    { ...cooling, ...OF_CONTRACT },
    false
  ),
  contract_delegations: staked(
    'contract_delegations',
    'Keys that stakers on contracts named',
    { signing_pubkey: signer, ...SPAN, ...OF_CONTRACT },
    false
  ),
  rewards: rowsById(
    'validator_rewards',
    'Rewards of validators',
    {
      id: bigOrNull('t.id'),
      source: address('t.source_id'),
      signing_pubkey: signer,
      reward_type: textOrNull('t.reward_type'),
      round_reference: bigOrNull('t.round_reference'),
      amount,
      block_index: bigOrNull('t.block_index'),
      timestamp: timeOf('t.block_index')
    },
    { types: { address: rewards.own('address', 'source_id'), source: rewards.own('address', 'source_id') } }
  ),
  full_node_verifications: rowsById(
    'full_node_verifications',
    'Tests of full nodes',
    {
      action: textOrNull("'NODEPROOF'"),
      action_format: integerOrNull('(SELECT a.action_format FROM actions a WHERE a.action_index = t.action_index)'),
      action_index: bigOrNull('t.action_index'),
      block_index: bigOrNull('t.block_index'),
      timestamp: timeOf('t.block_index'),
      challenge_id: textOrNull('t.challenge_id'),
      epoch_height: bigOrNull('t.epoch_height'),
      target_height: bigOrNull('t.target_height'),
      passed: integerOrNull('t.passed'),
      signing_pubkey: signer,
      signing_pubkey_id: bigOrNull('t.signing_pubkey_id'),
      source: address('t.source_id'),
      source_id: bigOrNull('t.source_id'),
      staking_source: address('t.source_id'),
      tx_hash: textOrNull(
        `(SELECT i.hash FROM actions a JOIN transactions x ON x.tx_index = a.tx_index
          JOIN index_transactions i ON i.id = x.tx_hash_id WHERE a.action_index = t.action_index)`
      ),
      tx_index: bigOrNull('(SELECT a.tx_index FROM actions a WHERE a.action_index = t.action_index)')
    },
    {
      types: {
        block: verifications.own('height', 'block_index'),
        epoch: verifications.own('height', 'epoch_height'),
        pubkey: byPubkey('full_node_verifications', 'signing_pubkey_id', 'id'),
        address: verifications.own('address', 'source_id')
      },
      all: verifications.all
    }
  ),
  slash_events: rowsById(
    'slash_events',
    'Stakes on contracts that were cut',
    {
      id: bigOrNull('t.id'),
      execution_index: bigOrNull('t.execution_index'),
      ...OF_CONTRACT,
      slashed_pubkey: signer,
      amount,
      destination: address('t.destination_id'),
      block_index: bigOrNull('t.block_index'),
      timestamp: timeOf('t.block_index')
    },
    {
      types: {
        block: slashes.own('height', 'block_index'),
        address: slashes.own('address', 'destination_id'),
        contract: slashes.own('action', 'target_contract_index')
      },
      all: slashes.all
    }
  ),
  capability_slash_events: rowsById(
    'capability_slash_events',
    'Stakes of validators that were cut',
    {
      id: bigOrNull('t.id'),
      slash_action_index: bigOrNull('t.slash_action_index'),
      slashed_pubkey: signer,
      capability: textOrNull('t.capability'),
      equiv_key: textOrNull('t.equiv_key'),
      amount,
      bounty_amount: amountOrNull('t.bounty_amount'),
      treasury_amount: amountOrNull('t.treasury_amount'),
      submitter: address('t.submitter_id'),
      destination: address('t.destination_id'),
      block_index: bigOrNull('t.block_index'),
      timestamp: timeOf('t.block_index')
    },
    {
      types: {
        block: abilities.own('height', 'block_index'),
        capability: abilities.own('word', 'capability'),
        pubkey: byPubkey('capability_slash_events', 'signing_pubkey_id', 'id'),
        address: abilities.own('address', 'submitter_id', 'destination_id')
      },
      all: abilities.all
    }
  ),
  capability_snapshots: rowsById(
    'capability_snapshots',
    'Stakes of validators at a block',
    {
      id: bigOrNull('t.id'),
      snapshot_block: bigOrNull('t.snapshot_block'),
      capability: textOrNull('t.capability'),
      signing_pubkey: textOrNull('t.signing_pubkey'),
      amount,
      source: textOrNull('t.source'),
      created_at: textOrNull('t.created_at')
    },
    {
      types: {
        capability: shots.own('word', 'capability'),
        block: shots.own('height', 'snapshot_block'),
        pubkey: shots.own('word', 'signing_pubkey')
      },
      all: shots.all
    }
  )
} as const satisfies Readonly<Record<string, List>>;
