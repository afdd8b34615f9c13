import { address, amountOrNull, bigOrNull, type Columns, integerOrNull, textOrNull, ticker } from './columns.ts';
import type { Filter, List, Way } from './list.ts';
import { keyed, waysOf } from './ways.ts';
import { rowsById, status, timeOf, written } from './written.ts';

const [contracts, executions, emissions, chunks, deposits, withdrawals, controllers] = [
  waysOf('contracts'),
  waysOf('contract_executions'),
  waysOf('contract_emissions', { key: 'id' }),
  waysOf('deploy_chunks'),
  waysOf('deposits'),
  waysOf('withdrawals'),
  waysOf('token_controllers', { key: 'id' })
];
const amount = amountOrNull('t.amount');
const contract = bigOrNull('t.contract_index');
const source = address('t.source_id');

/** Fields of a contract, without its code. */
const CONTRACT: Columns = {
  code_hash: textOrNull('t.code_hash'),
  api_version: integerOrNull('t.api_version'),
  cooldown_blocks: integerOrNull('t.cooldown_blocks'),
  slash_destination: address('t.slash_destination_id'),
  status
};
const EXECUTION: Columns = {
  contract_index: contract,
  caller: address('t.caller_id'),
  method_name: textOrNull('t.method_name'),
  gas_used: bigOrNull('t.gas_used'),
  gas_limit: bigOrNull('t.gas_limit'),
  emitted_count: integerOrNull('t.emitted_count'),
  status
};
const byBlock = (ways: ReturnType<typeof waysOf>) => ways.own('height', 'block_index');

/** Emissions by a column of the call that they came of. */
const ofExecution = (column: string, takes: Filter['takes']): Filter =>
  keyed(
    takes,
    'contract_executions e JOIN contract_emissions m ON m.execution_index = e.action_index',
    'm.id',
    `e.${column} = ?`
  );

/** A key of a contract has a row for each of its values, the newest last. */
const NEWEST_STATE: Way = {
  from: 'contract_state t',
  key: 't.id',
  isUnique: true,
  where: `t.contract_index = ? AND NOT EXISTS (SELECT 1 FROM contract_state n
    WHERE n.contract_index = t.contract_index AND n.state_key = t.state_key AND n.id > t.id)`,
  rows: 'TRUE'
};

/** Returns a list of the payments into a contract, or out of it. */
function paid(table: 'deposits' | 'withdrawals', ways: ReturnType<typeof waysOf>, summary: string): List {
  return written(
    table,
    summary,
    { contract_index: contract, source, tick: ticker('t.tick_id'), amount, status },
    {
      types: {
        block: byBlock(ways),
        address: ways.own('address', 'source_id'),
        source: ways.own('address', 'source_id'),
        contract: ways.own('action', 'contract_index')
      }
    }
  );
}

/** The lists of contracts, by their methods. */
export const CONTRACT_LISTS = {
  contracts: written(
    'contracts',
    'Contracts',
    { ...CONTRACT, source },
    {
      types: {
        block: byBlock(contracts),
        address: contracts.own('address', 'source_id'),
        source: contracts.own('address', 'source_id')
      },
      all: contracts.all
    }
  ),
  contract_state: {
    ...rowsById(
      'contract_state',
      'Lists what a contract keeps',
      {
        id: bigOrNull('t.id'),
        contract_index: contract,
        state_key: textOrNull('t.state_key'),
        state_value: textOrNull('t.state_value'),
        block_index: bigOrNull('t.block_index')
      },
      {
        types: { contract: { takes: 'action', ways: [NEWEST_STATE] } },
        usual: 'contract',
        paths: ['contract/:query/state', 'contract/:query/state/:type']
      }
    ),
    rank: { by: 't.state_key', bound: '?' },
    usualOrder: 'asc'
  },
  executions: written('contract_executions', 'Calls of contracts', EXECUTION, {
    types: {
      block: byBlock(executions),
      address: executions.own('address', 'caller_id'),
      contract: executions.own('action', 'contract_index')
    },
    all: executions.all
  }),
  execution: written(
    'contract_executions',
    'One call of a contract',
    { ...EXECUTION, input_params: textOrNull('t.input_params'), error_message: textOrNull('t.error_message') },
    { types: { action: executions.action }, usual: 'action' }
  ),
  emissions: rowsById(
    'contract_emissions',
    'Actions that contracts took',
    {
      id: bigOrNull('t.id'),
      execution_index: bigOrNull('t.execution_index'),
      emitted_action: textOrNull('t.emitted_action'),
      action_index: bigOrNull('t.action_index'),
      position: integerOrNull('t.position'),
      contract_index: bigOrNull(
        '(SELECT e.contract_index FROM contract_executions e WHERE e.action_index = t.execution_index)'
      ),
      block_index: bigOrNull(
        '(SELECT e.block_index FROM contract_executions e WHERE e.action_index = t.execution_index)'
      ),
      timestamp: timeOf('(SELECT e.block_index FROM contract_executions e WHERE e.action_index = t.execution_index)'),
      status: textOrNull(
        `(SELECT i.status FROM contract_executions e JOIN index_statuses i ON i.id = e.status_id
          WHERE e.action_index = t.execution_index)`
      )
    },
    {
      types: {
        contract: ofExecution('contract_index', 'action'),
        execution: emissions.own('action', 'execution_index'),
        block: ofExecution('block_index', 'height')
      },
      all: emissions.all
    }
  ),
  deploy_chunks: written(
    'deploy_chunks',
    'Parts of the code of contracts',
    {
      source,
      code_hash: textOrNull('t.code_hash'),
      chunk_index: integerOrNull('t.chunk_index'),
      total_chunks: integerOrNull('t.total_chunks'),
      status
    },
    { types: {}, all: chunks.all }
  ),
  deposits: paid('deposits', deposits, 'Lists what was paid into contracts'),
  withdrawals: paid('withdrawals', withdrawals, 'Lists what was paid out of contracts'),
  controllers: rowsById(
    'token_controllers',
    'Contracts that decide about a token',
    {
      action_index: bigOrNull('t.action_index'),
      action_class: textOrNull('t.action_class'),
      contract_index: contract,
      subject: ticker('t.tick_id'),
      scope: textOrNull("'token'"),
      bound_by: address('t.bound_by_id'),
      is_unbind: integerOrNull('t.is_unbind'),
      cooldown_blocks: integerOrNull('t.cooldown_blocks'),
      cooldown_end_block: bigOrNull('t.cooldown_end_block'),
      status: textOrNull("IF(t.is_unbind = 1, 'unbound', 'bound')"),
      block_index: bigOrNull('t.block_index'),
      timestamp: timeOf('t.block_index')
    },
    { types: {}, all: controllers.all }
  )
} as const satisfies Readonly<Record<string, List>>;
