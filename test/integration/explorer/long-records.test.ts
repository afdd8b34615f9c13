import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { sql } from '../../support/sql.ts';

const FIRST_ACTION = 500_000;
const TX = 500_000;
const MANY = 150;
const SHOWN = 100;

test('a transaction of many actions, an action of many credits, parts or items, and a token of many open polls show the first hundred in an order of their own and say how many there are', async () => {
  const explored = await createExplored();
  await sql(
    explored.indexer,
    `INSERT INTO transactions (tx_index, block_index, tx_hash_id, source_id) VALUES (${TX}, 1, 1, 1)`,
    // Written backwards, so that the order of writing is not theirs.
    `INSERT INTO actions (action_index, tx_index, block_index, action_id, source_id)
       SELECT ${FIRST_ACTION + MANY} - seq, ${TX}, 1, 1, 1 FROM seq_1_to_${MANY}`,
    `INSERT INTO index_addresses (id, address, block_index) SELECT 700000 + seq, CONCAT('holder', LPAD(seq, 4, '0')), 1 FROM seq_1_to_${MANY}`,
    `INSERT INTO credits (action_index, address_id, tick_id, amount)
       SELECT ${FIRST_ACTION}, 700001 + ${MANY} - seq, 1, '1' FROM seq_1_to_${MANY}`,
    `INSERT INTO index_actions (id, action) VALUES (700001, 'LIST'), (700002, 'BATCH')`,
    `UPDATE actions SET action_id = 700001 WHERE action_index = ${FIRST_ACTION + 1}`,
    `UPDATE actions SET action_id = 700002 WHERE action_index = ${FIRST_ACTION}`,
    `INSERT INTO lists (action_index, type) VALUES (${FIRST_ACTION + 1}, 2)`,
    `INSERT INTO list_items (action_index, item_id) SELECT ${FIRST_ACTION + 1}, 700000 + seq FROM seq_1_to_${MANY}`,
    `INSERT INTO polls (action_index, block_index, end_block, tick_id, poll_status) SELECT 800000 + seq, 1, 9, (SELECT MIN(tick_id) FROM tokens), 'open' FROM seq_1_to_${MANY}`
  );
  const { url } = await startExplorer(explored);
  const record = async (path: string) => (await (await fetch(`${url}/api/${path}`)).json()) as Record<string, unknown>;
  const transaction = await record(`transaction/${TX}/tx_index`);
  const actions = transaction['actions'] as { readonly action_index: string }[];
  assert.equal(transaction['actions_total'], String(MANY));
  assert.deepEqual(
    actions.map(({ action_index }) => action_index),
    Array.from({ length: SHOWN }, (_, n) => String(FIRST_ACTION + MANY - 1 - n))
  );
  const action = await record(`action/${FIRST_ACTION}`);
  assert.equal(action['credits_total'], String(MANY));
  assert.deepEqual(
    (action['credits'] as { readonly address: string }[]).map(({ address }) => address),
    Array.from({ length: SHOWN }, (_, n) => `holder${String(n + 1).padStart(4, '0')}`)
  );
  const parts = action['actions'] as readonly object[];
  assert.deepEqual([parts.length, action['actions_total']], [SHOWN, String(MANY - 1)]);
  const list = await record(`action/${FIRST_ACTION + 1}`);
  const { list: items, state } = list as { list: string[]; state: Record<string, unknown> };
  assert.deepEqual([items.length, list['list_total'], list['edits_total']], [SHOWN, String(MANY), '0']);
  const current = state['current_list'] as string[];
  assert.deepEqual([current.length, state['current_list_total']], [SHOWN, String(MANY)]);
  const [first] = await sql(explored.indexer, 'SELECT MIN(tick_id) AS id FROM tokens');
  const token = await record(`token/^${first!['id']}`);
  const polls = token['open_polls'] as { readonly action_index: string }[];
  assert.deepEqual([polls.length, polls[0]!.action_index], [SHOWN, String(800_000 + MANY)]);
  assert.ok(Number(token['open_polls_total']) >= MANY);
});

test('the present members of a list are those that were kept last, with what edits changed since', async () => {
  const explored = await createExplored();
  const [valid] = await sql(explored.indexer, "SELECT id FROM index_statuses WHERE status = 'valid'");
  const edit = (at: number, change: number, items: readonly number[]) => [
    `INSERT INTO actions (action_index, tx_index, block_index, action_id, source_id) VALUES (${at}, ${TX}, 1, 700001, 1)`,
    `INSERT INTO lists (action_index, type, edit, list_action_index, status_id)
       VALUES (${at}, 2, ${change || 'NULL'}, ${change ? FIRST_ACTION : 'NULL'}, ${valid!['id']})`,
    ...items.map((n) => `INSERT INTO list_edits VALUES (${at}, ${700_000 + n}, ${valid!['id']})`)
  ];
  const keep = (at: number, items: readonly number[]) =>
    items.map((n) => `INSERT INTO list_items (action_index, item_id) VALUES (${at}, ${700_000 + n})`);
  await sql(
    explored.indexer,
    `INSERT INTO transactions (tx_index, block_index, tx_hash_id, source_id) VALUES (${TX}, 1, 1, 1)`,
    "INSERT INTO index_actions (id, action) VALUES (700001, 'LIST')",
    `INSERT INTO index_addresses (id, address, block_index) SELECT 700000 + seq, CONCAT('member', seq), 1 FROM seq_1_to_9`,
    ...edit(FIRST_ACTION, 0, []),
    ...keep(FIRST_ACTION, [1, 2]),
    ...edit(FIRST_ACTION + 1, 1, [3]),
    ...keep(FIRST_ACTION + 1, [1, 2, 3]),
    ...edit(FIRST_ACTION + 2, 2, [1]), // not kept, as those behind it
    ...edit(FIRST_ACTION + 3, 1, [4, 5]),
    ...edit(FIRST_ACTION + 4, 2, [4]),
    ...edit(FIRST_ACTION + 5, 1, [1])
  );
  const { url } = await startExplorer(explored);
  const action = async (index: number) =>
    (await (await fetch(`${url}/api/action/${index}`)).json()) as { state: Record<string, unknown> };
  for (const index of [FIRST_ACTION, FIRST_ACTION + 4]) {
    const { state } = await action(index);
    assert.deepEqual(state['current_list'], ['member1', 'member2', 'member3', 'member5']);
    assert.deepEqual([state['current_list_total'], state['membership_action_index']], ['4', FIRST_ACTION + 5]);
  }
});
