import Type from 'typebox';
import { PlatformError } from '../../errors.ts';
import {
  bigOrNull,
  type Columns,
  integerOrNull,
  readRow,
  rowSchema,
  selectList,
  textOrNull
} from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import type { Query } from '../read/reader.ts';
import { readHeight } from '../read/subject.ts';
import { listIn, type RecordMethod, unknown } from './record.ts';

const text = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, textOrNull(`t.${name}`)]));

/** Content of a block that validators signed. */
const CHECKPOINT: Columns = {
  ...text('chain', 'network', 'block_hash', 'ledger_hash', 'actions_hash', 'contract_hash', 'state_root'),
  ...text('block_merkle_root', 'created_at', 'validator_signatures'),
  block_index: bigOrNull('t.block_index'),
  checkpoint_seq: bigOrNull('t.checkpoint_seq'),
  snapshot_block: bigOrNull('t.snapshot_block'),
  state_root_version: integerOrNull('t.state_root_version'),
  block_merkle_version: integerOrNull('t.block_merkle_version')
};
const SCHEMA = Type.Object({
  ...rowSchema(CHECKPOINT).properties,
  validator_signatures: Type.Array(Type.Unknown())
});
const ListSchema = Type.Object({ checkpoints: Type.Array(SCHEMA), count: Type.Integer() });
const USUAL_ROWS = 10;
const MOST_IN_RANGE = 500;

async function readCheckpoints(
  query: Query,
  where: string,
  values: readonly (number | string)[]
): Promise<readonly Row[]> {
  const found = await query<Row>(`SELECT ${selectList(CHECKPOINT)} FROM state_checkpoints t ${where}`, values);
  return found.map((row) => {
    const record = readRow(CHECKPOINT, row);
    return { ...record, validator_signatures: listIn(record['validator_signatures']) };
  });
}

/** Reads what validators signed under a number of a chain and network; null where that is not known. */
export async function checkpointOf(query: Query, chainNetworkAndSeq: readonly string[]): Promise<Row | null> {
  const where = 'WHERE t.chain = ? AND t.network = ? AND t.checkpoint_seq = ? LIMIT 1';
  return (await readCheckpoints(query, where, chainNetworkAndSeq))[0] ?? null;
}

const checkpoint: RecordMethod = {
  changesBetweenBlocks: true,
  summary: 'Tells what validators signed of a block last',
  tag: 'State',
  takes: 'height',
  schema: SCHEMA,
  read: async ({ query, question: { query: name = '' } }) => {
    const where = 'WHERE t.block_index = ? ORDER BY t.checkpoint_seq DESC LIMIT 1';
    const [found] = await readCheckpoints(query, where, [readHeight(name)]);
    return found ?? unknown('checkpoint of block', name);
  }
};

const verify: RecordMethod = {
  summary: 'Tells whether what validators signed of a block is what the ledger has; no validators sign here yet',
  tag: 'State',
  paths: ['checkpoint/:query/verify'],
  schema: Type.Object({}),
  read: async ({ question: { query: name = '' } }) => {
    readHeight(name);
    throw new PlatformError('CHECKPOINT_UNKNOWN', { reason: `no validator signed block ${name}` });
  }
};

const checkpoints: RecordMethod = {
  changesBetweenBlocks: true,
  summary: 'Lists what validators signed lately',
  tag: 'State',
  paths: ['checkpoints'],
  isPaged: { most: 100, usualRows: USUAL_ROWS },
  schema: ListSchema,
  read: async ({ query, question: { limit } }) => {
    const rows = await readCheckpoints(query, 'ORDER BY t.checkpoint_seq DESC LIMIT ?', [limit]);
    return { checkpoints: rows, count: rows.length };
  }
};

const range: RecordMethod = {
  changesBetweenBlocks: true,
  summary: `Lists what validators signed from one block to another, at most ${MOST_IN_RANGE} blocks`,
  tag: 'State',
  paths: ['checkpoints/range'],
  parameters: ['from', 'to'],
  schema: ListSchema,
  read: async ({ query, question: { parameters } }) => {
    const [from, to] = [parameters['from'], parameters['to']].map((height) =>
      /^\d{1,15}$/.test(height ?? '') ? Number(height) : Number.NaN
    );
    if (!(from! <= to! && to! - from! < MOST_IN_RANGE))
      throw new PlatformError('RANGE_INVALID', {
        reason: `send from and to, two heights less than ${MOST_IN_RANGE} apart`
      });
    const where = `WHERE t.block_index BETWEEN ? AND ? ORDER BY t.checkpoint_seq LIMIT ${MOST_IN_RANGE}`;
    const rows = await readCheckpoints(query, where, [from!, to!]);
    return { checkpoints: rows, count: rows.length };
  }
};

/** Answers for a proof against a checkpoint: there is none while no validators sign. */
function proof(summary: string, path: string): RecordMethod {
  return {
    summary: `${summary}; no validators sign here yet`,
    tag: 'State',
    paths: [path],
    schema: Type.Object({}),
    read: async () => {
      throw new PlatformError('CHECKPOINT_MISSING', { reason: 'no validator signed a block of this network' });
    }
  };
}

const stakesProof: RecordMethod = {
  ...proof('A proof of who validates', 'proof/validator-set'),
  read: async ({ databases: { network } }) => {
    if (network.chain !== 'bitcoin')
      throw new PlatformError('STAKES_ELSEWHERE', { reason: 'validators stake on Bitcoin: ask there' });
    throw new PlatformError('CHECKPOINT_MISSING', { reason: 'no validator signed a block of this network' });
  }
};

/** Records of what validators sign, and proofs against it, by their methods. */
export const COMMITMENT_RECORDS = {
  checkpoint,
  checkpoint_verify: verify,
  checkpoints,
  checkpoints_range: range,
  proof_balance: proof('A proof of a balance', 'proof/balance/:address/:tick'),
  proof_locked_balance: proof('A proof of what is in escrow', 'proof/locked-balance/:address/:tick'),
  proof_action: proof('A proof of an action', 'proof/action/:query'),
  proof_validator_set: stakesProof,
  proof_contract_state: proof('A proof of what a contract keeps', 'proof/contract-state/:query/:key'),
  hub_mirror_status: {
    summary: 'Tells whether the explorer mirrors a hub',
    tag: 'State',
    paths: ['hub-mirror/status'],
    schema: Type.Object({ enabled: Type.Boolean() }),
    read: async () => ({ enabled: false })
  }
} as const satisfies Readonly<Record<string, RecordMethod>>;
