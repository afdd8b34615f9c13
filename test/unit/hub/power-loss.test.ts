import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lossOf } from '../../../src/hub/federation/journal/power-loss.ts';

test('a power loss takes back what InnoDB does not flush, and what only a binary log has that is not synced', () => {
  for (const [flush, hasLog, sync, loss] of [
    [1, false, 0, null],
    [1, true, 1, null],
    [3, true, 0, null],
    [1, true, 0, 'sync_binlog=0'],
    [1, true, 100, 'sync_binlog=100'],
    [2, false, 0, 'innodb_flush_log_at_trx_commit=2'],
    [0, true, 1, 'innodb_flush_log_at_trx_commit=0']
  ] as const)
    assert.equal(lossOf({ flush, hasLog, sync }), loss);
});
