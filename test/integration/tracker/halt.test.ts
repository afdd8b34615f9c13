import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { query } from '../../support/decoder/loop.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../../support/service-process.ts';
import { UnspentSet } from '../../support/tracker/unspent-set.ts';

/** A reorg of more blocks halts. */
const UNDO_DEPTH = 126;

test('ROLLBACK_TOO_DEEP: more than 126 blocks halt a tracker durably, with reason and remedy, until --clear-halt', async () => {
  const { node } = await startTestLitecoind();
  await node.fund(5);
  await node.mine(UNDO_DEPTH);
  const database = await createDatabase('tracker_deep');
  const port = await freePort();
  const address = await node.newAddress();
  const environment = {
    ...nodeEnv(node),
    ...databaseEnv('UTXO', database),
    UTXO_TRACKER_API_HOST: '127.0.0.1',
    UTXO_TRACKER_API_PORT: String(port),
    UTXO_TRACKER_POLL_INTERVAL: '20'
  };
  const status = async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'get_sync_status' });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body }).catch(() => null);
    return ((await answer?.json()) as { result: Record<string, unknown> } | undefined)?.result;
  };
  /** Runs the tracker until its status is as wanted, then stops it as an operator does. */
  const runUntil = async (isWanted: (status: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> => {
    const { child, exited, output } = startServiceProcess('utxo', environment);
    for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50)) {
      const shown = await status();
      if (shown && isWanted(shown)) {
        assert.equal((await fetch(`http://127.0.0.1:${port}/status`)).status, shown['halted'] ? 503 : 200);
        for (const path of ['balance', 'utxos', 'firstseen']) {
          const bare = await fetch(`http://127.0.0.1:${port}/${path}/${address}`);
          assert.equal(bare.status, shown['halted'] ? 503 : 200, `${path}: ${await bare.text()}`);
        }
        child.kill('SIGTERM');
        assert.equal(await exited, 0, output());
        return shown;
      }
      assert.ok(Date.now() < deadline && child.exitCode === null, `${JSON.stringify(shown)}\n${output()}`);
    }
  };
  const unspent = new UnspentSet(node.rpc);
  const storedHeight = async () =>
    Number((await query(database, 'SELECT MAX(block_index) AS n FROM blocks'))[0]?.['n']);

  const before = await node.height();
  await runUntil(({ committed_height }) => committed_height === before);
  await node.invalidate(UNDO_DEPTH + 1);
  await node.pay({ action: 'SEND|0|1' });
  await node.mine(UNDO_DEPTH + 3);

  for (const start of ['first', 'second']) {
    const { halt_reason: reason, synced } = await runUntil(({ halted }) => halted === true);
    assert.match(String(reason), /more than 126 blocks deep.*second node.*platform-node utxo --clear-halt/, start);
    assert.equal(synced, false);
    assert.equal(await storedHeight(), before, 'no block is undone');
  }
  const clearing = startServiceProcess('utxo', environment, ['--clear-halt']);
  assert.equal(await clearing.exited, 0, clearing.output());
  assert.match(clearing.output(), /cleared: .*more than 126 blocks deep/);

  const after = await node.height();
  const { reorg_count, last_reorg_depth } = await runUntil(
    ({ committed_height, lag }) => committed_height === after && lag === 0
  );
  assert.deepEqual([reorg_count, last_reorg_depth], [1, UNDO_DEPTH + 1]);
  await unspent.assertStored(database, 'after the reorg');
});
