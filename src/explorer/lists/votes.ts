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
import { memo, rowsById, status, written } from './written.ts';

const VOTE = { action: 'VOTE' } as const;
const [polls, results, votes, delegations, feeds, bets] = [
  waysOf('polls', VOTE),
  waysOf('poll_results', { key: 'option_index' }),
  waysOf('votes', VOTE),
  waysOf('vote_delegations', VOTE),
  waysOf('bet_feeds', { action: 'BET' }),
  waysOf('bets')
];
const tick = ticker('t.tick_id');

/** Question and result of a poll. */
const POLL: Columns = {
  tick,
  question: textOrNull('t.question'),
  options: textOrNull('t.options', 'a JSON list'),
  end_block: bigOrNull('t.end_block'),
  max_selections: integerOrNull('t.max_selections'),
  tally_mode: textOrNull('t.tally_mode'),
  weight_mode: textOrNull('t.weight_mode'),
  quorum: amountOrNull('t.quorum'),
  min_voters: bigOrNull('t.min_voters'),
  deposit_amount: amountOrNull('t.deposit_amount'),
  poll_status: textOrNull('t.poll_status'),
  winning_option: integerOrNull('t.winning_option'),
  total_weight: amountOrNull('t.total_weight'),
  total_voters: bigOrNull('t.total_voters'),
  quorum_met: integerOrNull('t.quorum_met'),
  min_voters_met: integerOrNull('t.min_voters_met'),
  finalized_action_index: bigOrNull('t.finalized_action_index'),
  callback_contract_index: bigOrNull('t.callback_contract_index'),
  callback_method: textOrNull('t.callback_method'),
  status
};

/** Fields of the record of one poll; more than the list has. */
export const POLL_DETAILS: Columns = {
  ...POLL,
  tick_id: bigOrNull('t.tick_id'),
  min_vote_balance: amountOrNull('t.min_vote_balance'),
  decide_threshold: amountOrNull('t.decide_threshold'),
  decided_early: integerOrNull('t.decided_early'),
  deposit_address: address('t.deposit_address_id'),
  deposit_resolved: textOrNull('t.deposit_resolved'),
  effective_close_block: bigOrNull('t.effective_close_block'),
  fail_reason: textOrNull('t.fail_reason'),
  resolved_block: bigOrNull('t.resolved_block'),
  callback_params: textOrNull('t.callback_params'),
  callback_on: textOrNull('t.callback_on'),
  callback_delay_blocks: bigOrNull('t.callback_delay_blocks'),
  callback_execute_action_index: bigOrNull('t.callback_execute_action_index'),
  gas_escrow: amountOrNull('t.gas_escrow')
};

/** The lists of polls and bets, by their methods. */
export const VOTE_LISTS = {
  polls: written('polls', 'Polls', POLL, {
    types: {
      block: polls.block,
      tick: polls.own('ticker', 'tick_id'),
      status: polls.own('word', 'poll_status'),
      source: polls.source
    },
    all: polls.all
  }),
  poll_results: rowsById(
    'poll_results',
    'Lists how polls ended, option by option',
    {
      poll_index: bigOrNull('t.poll_index'),
      option_index: integerOrNull('t.option_index'),
      total_weight: amountOrNull('t.total_weight'),
      voter_count: bigOrNull('t.voter_count'),
      finalize_action_index: bigOrNull('t.action_index'),
      block_index: bigOrNull('t.block_index'),
      status
    },
    { types: { poll: results.own('action', 'poll_index') }, usual: 'poll', paths: ['poll/:query/results'] },
    'option_index'
  ),
  votes: written(
    'votes',
    'Votes, one row a choice',
    {
      poll_index: bigOrNull('t.poll_index'),
      choice: integerOrNull('t.choice'),
      share: amountOrNull('t.share'),
      memo: textOrNull('t.memo'),
      status
    },
    {
      types: {
        address: votes.own('address', 'voter_address_id'),
        poll: votes.own('action', 'poll_index'),
        block: votes.own('height', 'block_index')
      },
      all: votes.shared
    },
    ['t.choice']
  ),
  vote_delegations: written(
    'vote_delegations',
    'Votes that holders left to others',
    { tick, delegator: address('t.delegator_address_id'), delegate: address('t.delegate_address_id'), status },
    {
      types: {
        tick: delegations.own('ticker', 'tick_id'),
        delegator: delegations.own('address', 'delegator_address_id'),
        delegate: delegations.own('address', 'delegate_address_id'),
        block: delegations.own('height', 'block_index')
      },
      all: delegations.shared
    },
    ['t.tick_id', 't.delegate_address_id']
  ),
  bet_feeds: written(
    'bet_feeds',
    'Lists what is bet on',
    {
      tick,
      label: textOrNull('t.label'),
      outcomes: textOrNull('t.outcomes'),
      fee: amountOrNull('t.fee'),
      deadline: bigOrNull('t.deadline'),
      refund_window: bigOrNull('t.refund_window'),
      expire_at: bigOrNull('t.expire_at'),
      min_amount: amountOrNull('t.min_amount'),
      allow_list: bigOrNull('t.allow_list'),
      block_list: bigOrNull('t.block_list'),
      feed_status: looked('index_statuses', 't.feed_status_id'),
      closed_block: bigOrNull('t.closed_block'),
      terminal_block: bigOrNull('t.terminal_block'),
      status
    },
    {
      types: {
        block: feeds.block,
        address: feeds.source,
        source: feeds.source,
        token: feeds.own('ticker', 'tick_id'),
        status: feeds.texts('feed_status_id', 'status')
      },
      all: feeds.all
    }
  ),
  bets: written(
    'bets',
    'Bets',
    {
      feed_action_index: bigOrNull('t.feed_action_index'),
      outcome: integerOrNull('t.outcome'),
      tick,
      amount: amountOrNull('t.amount'),
      bet_status: looked('index_statuses', 't.bet_status_id'),
      settled_block: bigOrNull('t.settled_block'),
      memo,
      status
    },
    {
      types: {
        block: bets.block,
        address: bets.source,
        feed: bets.own('action', 'feed_action_index'),
        token: bets.own('ticker', 'tick_id'),
        status: bets.texts('bet_status_id', 'status')
      },
      all: bets.all
    }
  )
} as const satisfies Readonly<Record<string, List>>;
