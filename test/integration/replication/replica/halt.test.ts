import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../../src/db/connection.ts';
import { createReplica } from '../../../support/sync/small-replica.ts';
import { testReplica } from '../../../support/sync/test-replica.ts';

const NOBODY = 'http://127.0.0.1:9';
const HALT = { block_index: 7, reason: 'digest-mismatch', mismatches: null, sources: [NOBODY] };

test('a halt that the database does not take is kept in a file, blocks the next start, and is cleared in both', async () => {
  const { to, writer } = await createReplica();
  await writer.end();
  const first = testReplica(to, NOBODY);
  await first.open();
  await first.store.writer.query('DROP TABLE sync_halt');
  await first.halt.raise('digest-mismatch', HALT.block_index, HALT.mismatches, HALT.sources);
  const halt = first.halt.current;
  assert.deepEqual(halt, { ...HALT, detected_at: halt!.detected_at });
  await first.close();
  const next = testReplica(to, NOBODY, { stateDirectory: first.data.stateDirectory });
  await next.open();
  assert.deepEqual(next.halt.current, halt);
  const control = await connect(to);
  assert.deepEqual(await next.halt.clear(control), halt);
  assert.deepEqual([next.halt.current, await rows(control, 'SELECT * FROM sync_halt')], [null, []]);
  await next.close();
  const last = testReplica(to, NOBODY, { stateDirectory: first.data.stateDirectory });
  await last.open();
  assert.equal(last.halt.current, null);
  await last.close();
  await control.end();
});
