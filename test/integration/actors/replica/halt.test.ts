import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, rows } from '../../../../src/db/core/connection.ts';
import { replicaSession } from '../../../support/sync/replica-session.ts';
import { createReplica } from '../../../support/sync/small-replica.ts';

const NOBODY = 'http://127.0.0.1:9';
const HALT = { block_index: 7, reason: 'digest-mismatch', mismatches: null, sources: [NOBODY] };

test('a halt that the database does not take is kept in a file, blocks the next start, and is cleared in both', async () => {
  const { to, writer } = await createReplica();
  await writer.end();
  const first = replicaSession(to, NOBODY);
  await first.open();
  await first.writer.query('DROP TABLE sync_halt');
  await first.raiseHalt('digest-mismatch', HALT.block_index, HALT.mismatches, HALT.sources);
  const halt = first.halt;
  assert.deepEqual(halt, { ...HALT, detected_at: halt!.detected_at });
  await first.close();
  const next = replicaSession(to, NOBODY, { stateDirectory: first.data.stateDirectory });
  await next.open();
  assert.deepEqual(next.halt, halt);
  const control = await connect(to);
  assert.deepEqual(await next.clearHalt(control), halt);
  assert.deepEqual([next.halt, await rows(control, 'SELECT * FROM sync_halt')], [null, []]);
  await next.close();
  const last = replicaSession(to, NOBODY, { stateDirectory: first.data.stateDirectory });
  await last.open();
  assert.equal(last.halt, null);
  await last.close();
  await control.end();
});
