import Type from 'typebox';
import { OrNull } from '../../wire/or-null.ts';
import {
  address,
  amountOrNull,
  big,
  bigOrNull,
  type Columns,
  integerOrNull,
  rowSchema,
  textOrNull,
  ticker
} from '../lists/columns.ts';
import type { Row } from '../lists/list.ts';
import { LISTS } from '../lists/lists.ts';
import { ACTION_COLUMNS, status } from '../lists/written.ts';
import type { Query } from '../read/reader.ts';
import { readActionIndex, readHash } from '../read/subject.ts';
import { checkpointOf } from './commitments.ts';
import { listIn, MAX_ROWS, type RecordMethod, readRows, unknown } from './record.ts';

const text = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, textOrNull(`t.${name}`)]));
const bigs = (...names: string[]): Columns => Object.fromEntries(names.map((name) => [name, bigOrNull(`t.${name}`)]));
const whole = (...names: string[]): Columns =>
  Object.fromEntries(names.map((name) => [name, integerOrNull(`t.${name}`)]));
const RowOrNull = (columns: Columns) => OrNull(rowSchema(columns));
const Anything = Type.Array(Type.Unknown());

const CALL: Columns = { ...LISTS['xcalls']!.columns, ...text('params_json', 'callback_params_json', 'result_payload') };
const EXECUTION: Columns = {
  ...bigs('execute_action_index', 'gas_used'),
  ...text('result_status', 'return_payload_b64'),
  execution_block_index: bigOrNull('t.block_index')
};
const DELIVERY: Columns = {
  callback_result_status: textOrNull('t.result_status'),
  callback_block_index: bigOrNull('t.block_index')
};

/** Reads the one row of a table; null: there is none. */
async function readOne(
  query: Query,
  columns: Columns,
  from: string,
  values: readonly (string | number)[]
): Promise<Row | null> {
  const [found] = await readRows(query, columns, `${from} LIMIT 1`, values);
  return found ?? null;
}

const INDEX = /^\d{1,15}$/;
/** Returns what names a row: the index of an action, or an id of 64 hex digits; null: neither. */
const keyIn = (name: string) => (INDEX.test(name) ? Number(name) : readHash(name));
const xcall: RecordMethod = {
  summary: 'A call of a contract of another chain, by its action or its id, with what became of it',
  tag: 'Actions',
  takes: 'action index, or the id of the call',
  schema: Type.Object({
    ...rowSchema(CALL).properties,
    params: Anything,
    callback_params: Anything,
    execution: RowOrNull(EXECUTION),
    callback_delivery: RowOrNull(DELIVERY)
  }),
  read: async ({ query, question: { query: name = '' } }) => {
    const from = 'xcalls t JOIN actions a ON a.action_index = t.action_index';
    const key = keyIn(name);
    if (key === null) return unknown('call', name);
    const by = typeof key === 'number' ? 't.action_index' : 't.call_id';
    const call = await readOne(query, CALL, `${from} WHERE ${by} = ? ORDER BY t.version, t.action_index`, [key]);
    if (!call) return unknown('call', name);
    const id = [String(call['call_id'])];
    return {
      ...call,
      params: listIn(call['params_json']),
      callback_params: listIn(call['callback_params_json']),
      execution: await readOne(query, EXECUTION, 'cross_chain_call_executions t WHERE t.call_id = ?', id),
      callback_delivery: await readOne(query, DELIVERY, 'cross_chain_call_callbacks t WHERE t.call_id = ?', id)
    };
  }
};

const LEG: Columns = {
  ...ACTION_COLUMNS,
  ...whole('version', 'redundancy'),
  ...text('request_id', 'provider_id', 'payload', 'callback_method', 'callback_params_json', 'request_status'),
  ...text('responsible_set_json', 'origin_chain', 'response_hash', 'response_payload', 'response_status', 'meta'),
  ...text('validator_signatures'),
  ...bigs('contract_index', 'deadline_block', 'resolved_block', 'origin_action_index', 'callback_execute_action_index'),
  fee_payer: address('t.fee_payer_id'),
  fee_tick: ticker('t.fee_tick_id'),
  fee_amount: amountOrNull('t.fee_amount'),
  gas_escrow: amountOrNull('t.gas_escrow'),
  status
};
const LegSchema = Type.Object({ ...rowSchema(LEG).properties, quorum_signatures: Anything });
const LegOrNull = OrNull(LegSchema);
const TextOrNull = OrNull(Type.String());
/** Versions of an ATTEST: the question, and what answers it. */
const [ASKED, ANSWERED] = [0, 1];

const attestation: RecordMethod = {
  summary: 'A question to validators, by its id or an action of it, with its answers',
  tag: 'Actions',
  takes: 'id of the request, or an action index',
  schema: Type.Object({
    query: Type.String(),
    request_id: TextOrNull,
    provider_id: TextOrNull,
    callback_execute_action_index: TextOrNull,
    request: LegOrNull,
    response: LegOrNull,
    legs: Type.Array(LegSchema, { description: `the first ${MAX_ROWS}` }),
    expiry: Type.Object({
      request_status: TextOrNull,
      deadline_block: TextOrNull,
      resolved_block: TextOrNull,
      expired: Type.Boolean()
    }),
    relay: Type.Object({
      is_relay: Type.Boolean(),
      origin_chain: TextOrNull,
      origin_action_index: TextOrNull,
      response_relayed: Type.Boolean()
    })
  }),
  read: async ({ query, question: { query: name = '' } }) => {
    const from = 'attests t JOIN actions a ON a.action_index = t.action_index';
    const key = keyIn(name);
    if (key === null) return unknown('attestation', name);
    const id = typeof key === 'number' ? '(SELECT x.request_id FROM attests x WHERE x.action_index = ? LIMIT 1)' : '?';
    const where = `${from} WHERE t.request_id = ${id} ORDER BY t.version, t.action_index LIMIT ${MAX_ROWS}`;
    const rows = await readRows(query, LEG, where, [key]);
    const legs = rows.map((leg) => ({ ...leg, quorum_signatures: listIn(leg['validator_signatures']) }) as Row);
    const [first] = legs;
    if (!first) return unknown('attestation', name);
    const request = legs.find(({ version }) => version === ASKED) ?? null;
    const response = legs.find(({ version }) => version === ANSWERED) ?? null;
    const asked = (field: string) => request?.[field] ?? null;
    return {
      query: name,
      request_id: first['request_id'],
      provider_id: first['provider_id'],
      request,
      response,
      legs,
      callback_execute_action_index: legs.map((leg) => leg['callback_execute_action_index']).find(Boolean) ?? null,
      expiry: {
        request_status: asked('request_status'),
        deadline_block: asked('deadline_block'),
        resolved_block: asked('resolved_block'),
        expired: asked('request_status') === 'expired'
      },
      relay: {
        is_relay: asked('origin_chain') !== null,
        origin_chain: asked('origin_chain'),
        origin_action_index: asked('origin_action_index'),
        response_relayed: response?.['origin_chain'] != null
      }
    };
  }
};

const archived = integerOrNull('LENGTH(t.archive_b64)');
const ANCHOR: Columns = {
  ...LISTS['anchors']!.columns,
  archive_b64_length: archived,
  ...text('publisher', 'publisher_attestations')
};
const CHUNK: Columns = {
  action_index: big('t.action_index'),
  ...whole('version', 'chunk_index', 'total_chunks'),
  archive_b64_length: archived,
  ...bigs('block_index_doge'),
  status
};
const REWARD = LISTS['anchor_reward_attestations']!.columns;

const anchor: RecordMethod = {
  changesBetweenBlocks: true,
  summary: 'A checkpoint that was written into a chain, by its action, with its parts and rewards',
  tag: 'Actions',
  takes: 'action index',
  schema: Type.Object({
    ...rowSchema(ANCHOR).properties,
    validator_signatures: Anything,
    publisher_attestations: Anything,
    publisher_election: Anything,
    checkpoint: OrNull(Type.Object({}, { additionalProperties: true })),
    chunks: Type.Array(rowSchema(CHUNK), { description: `the first ${MAX_ROWS}` }),
    reward_attestations: Type.Array(rowSchema(REWARD), { description: `the newest ${MAX_ROWS}` })
  }),
  read: async ({ query, question: { query: name = '' } }) => {
    const from = 'anchor_actions t JOIN actions a ON a.action_index = t.action_index';
    const found = await readOne(query, ANCHOR, `${from} WHERE t.action_index = ? ORDER BY t.section_index`, [
      readActionIndex(name)
    ]);
    if (!found) return unknown('anchor', name);
    const values = (...names: string[]) => names.map((each) => String(found[each] ?? ''));
    const chunks = `anchor_actions t WHERE t.match_batch_seq = ? ORDER BY t.version, t.chunk_index LIMIT ${MAX_ROWS}`;
    const rewards = `anchor_reward_attestations t WHERE t.network = ? AND t.snapshot_block = ? AND t.chain = ? ORDER BY t.id DESC LIMIT ${MAX_ROWS}`;
    return {
      ...found,
      validator_signatures: listIn(found['validator_signatures']),
      publisher_attestations: listIn(found['publisher_attestations']),
      publisher_election: [],
      checkpoint: await checkpointOf(query, values('chain', 'network', 'checkpoint_seq')),
      chunks: found['match_batch_seq'] === null ? [] : await readRows(query, CHUNK, chunks, values('match_batch_seq')),
      reward_attestations: await readRows(query, REWARD, rewards, values('network', 'snapshot_block', 'chain'))
    };
  }
};

/** Records of what validators and other chains take part in, by their methods. */
export const RELAYED_RECORDS = { xcall, attestation, anchor } as const satisfies Readonly<Record<string, RecordMethod>>;
