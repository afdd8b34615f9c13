import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyAmendments } from '../../../../src/replication/replica/apply/block-writer.ts';
import { planRollback, rollBack } from '../../../../src/replication/replica/apply/rollback.ts';
import { readReplicaState } from '../../../../src/replication/replica/database/state.ts';
import type { AmendmentMessage } from '../../../../src/wire/data/messages.ts';
import { apply, block, content, context, createReplica, FIRST } from '../../../support/sync/small-replica.ts';

function amendment(number: number, height: number, rows: Partial<AmendmentMessage>): AmendmentMessage {
  return {
    type: 'amendment',
    chain: 'litecoin',
    network: 'regtest',
    dbType: 'decoder',
    block_index: height,
    block_hash: `h${height}`,
    number,
    schema_fingerprint: 'old',
    ...rows
  };
}

const TOKEN = { id: 900, tick: 'AAA', supply: '1.00000000' };
/** Rows of an older block, of the block itself, and of a table without blocks. */
const AMENDED = [
  amendment(1, 2, {
    ranges: {
      notes: {
        column: 'block_index',
        spans: [[1, 2]],
        rows: [
          { id: 70, block_index: 1, text: 'changed' },
          { id: 80, block_index: 2, text: 'own, changed' }
        ]
      }
    }
  }),
  amendment(2, 2, { updated_rows: { tokens: [{ ...TOKEN, supply: '5.00000000' }] } }),
  amendment(3, 2, { updated_rows: { tokens: [{ ...TOKEN, supply: '6.00000000' }] } })
];

/** @param together in one transaction */
async function amend(messages: readonly AmendmentMessage[], together = false) {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  const before = await content(writer);
  const notes = [{ id: 80, block_index: 2, text: 'own' }];
  await apply(writer, [block(2, { notes, tokens: [TOKEN] })]);
  for (const part of together ? [messages] : messages.map((message) => [message])) {
    const after = { amendments: part.at(-1)!.number, misses: false };
    await applyAmendments(writer, await context(writer), await readReplicaState(writer), part, after);
  }
  return { writer, before };
}

test('amendments of a block are applied in order, and once more without harm', async () => {
  for (const messages of [AMENDED, [...AMENDED, ...AMENDED]]) {
    const { writer } = await amend(messages);
    const { notes, tokens } = await content(writer);
    assert.deepEqual(notes, [
      '{"id":70,"block_index":1,"text":"changed"}',
      '{"id":80,"block_index":2,"text":"own, changed"}'
    ]);
    assert.equal(tokens![0], '{"id":900,"tick":"AAA","supply":"6.00000000"}');
    const { height, amendments } = await readReplicaState(writer);
    assert.deepEqual({ height, amendments }, { height: 2, amendments: 3 });
    await writer.end();
  }
});

test('amendments that change nothing in the marker move no other writer away', async () => {
  const { writer } = await createReplica();
  await apply(writer, [FIRST]);
  for (let again = 0; again < 2; again++) {
    const state = await readReplicaState(writer);
    await applyAmendments(writer, await context(writer), state, [], {
      amendments: state.amendments,
      misses: state.misses
    });
  }
  assert.equal((await readReplicaState(writer)).height, 1);
});

test('amendments that come together leave what they leave one by one: the later row of a name, or none', async () => {
  const gone = amendment(4, 2, { deleted_rows: { tokens: [{ tick: 'AAA' }] } });
  const other = amendment(5, 2, { updated_rows: { tokens: [{ ...TOKEN, id: 950, tick: 'CCC' }] } });
  const back = amendment(6, 2, { updated_rows: { tokens: [{ ...TOKEN, supply: '7.00000000' }] } });
  for (const messages of [AMENDED, [...AMENDED, gone, other], [...AMENDED, gone, other, back]]) {
    const [one, all] = [await amend(messages), await amend(messages, true)];
    assert.deepEqual(await content(all.writer), await content(one.writer));
    await Promise.all([one.writer.end(), all.writer.end()]);
  }
});

for (const together of [false, true])
  test(`a rollback undoes the amendments of a block with it (${together ? 'together' : 'one by one'})`, async () => {
    const { writer, before } = await amend(AMENDED, together);
    const plan = await planRollback(writer, 2, 1);
    await rollBack(writer, await context(writer), await readReplicaState(writer), plan!);
    assert.deepEqual(await content(writer), before);
    await writer.end();
  });
