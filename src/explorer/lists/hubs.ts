import { type Columns, textOrNull } from './columns.ts';
import type { Filter, List } from './list.ts';

/** Filter of a list without rows. */
const NOTHING: Filter = { takes: 'text', ways: [] };

/** Returns a list of what is in no database that an explorer reads. */
function elsewhere(summary: string, types: readonly string[], ...names: readonly string[]): List {
  const columns: Columns = Object.fromEntries(names.map((name) => [name, textOrNull('NULL')]));
  return {
    tag: 'State',
    database: 'indexer',
    summary: `${summary}; in no database of an explorer, so it has no rows`,
    columns,
    joins: '',
    within: [],
    isElsewhere: true,
    all: NOTHING,
    types: Object.fromEntries(types.map((type) => [type, NOTHING]))
  };
}

/** The lists of what only hubs and virtual machines know, by their methods. */
export const HUB_LISTS = {
  contract_balances: {
    ...elsewhere('Lists what a contract holds', ['contract'], 'tick', 'amount'),
    usual: 'contract',
    paths: ['contract/:query/balance', 'contract/:query/balance/:type']
  },
  projects: elsewhere(
    'Tokens of projects',
    ['roster'],
    'id',
    'tick',
    'decimals',
    'supply',
    'max_supply',
    'max_mint',
    'lock_max_supply',
    'lock_mint',
    'lock_mint_supply',
    'lock_max_mint',
    'lock_description',
    'lock_sleep',
    'lock_callback',
    'block_index',
    'timestamp',
    'tx_hash',
    'tx_index'
  ),
  validator_capabilities: elsewhere(
    'Lists what validators can do',
    ['capability', 'pubkey'],
    'id',
    'capability',
    'enabled',
    'qualified',
    'qualified_at_block',
    'self_test_ok',
    'signing_pubkey',
    'updated_at'
  ),
  governance_proposals: elsewhere(
    'Proposals of validators',
    ['status', 'parameter', 'proposal'],
    'id',
    'proposal_id',
    'parameter',
    'current_value',
    'proposed_value',
    'proposer_pubkey',
    'status',
    'voting_end',
    'activation_block'
  ),
  governance_votes: elsewhere(
    'Votes of validators',
    ['proposal', 'voter'],
    'id',
    'proposal_id',
    'vote',
    'voter_pubkey',
    'created_at'
  ),
  peers: elsewhere('Peers', ['validator'], 'id', 'addr', 'is_seed', 'last_seen_at', 'updated_at', 'validator_id'),
  consensus_state: elsewhere('Lists what validators agreed on', ['key'], 'id', 'key_name', 'value', 'updated_at'),
  configs: elsewhere(
    'Settings',
    ['coin', 'module'],
    'id',
    'coin',
    'network',
    'module',
    'param_name',
    'param_value',
    'updated_at'
  ),
  telemetry_pings: elsewhere(
    'Reports of installations',
    ['event', 'install', 'country'],
    'id',
    'event',
    'install_id',
    'country',
    'region',
    'arch',
    'os_platform',
    'os_release',
    'node_version',
    'docker_version',
    'created_at'
  ),
  reorgs: elsewhere(
    'Reorgs that validators reported',
    ['status', 'block'],
    'id',
    'reorg_id',
    'reorg_height',
    'reorg_timestamp',
    'source_chain',
    'affected_chains',
    'validator_count',
    'status',
    'created_at'
  ),
  slash_proposals: elsewhere(
    'Proposals to cut a stake',
    ['status', 'pubkey'],
    'id',
    'validator_pubkey',
    'offense_type',
    'evidence_hash',
    'round_number',
    'status',
    'created_at'
  )
} as const satisfies Readonly<Record<string, List>>;
