import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SqlRow } from '../../../src/db/connection.ts';
import { DatabaseWatch } from '../../../src/explorer/read/database-watch.ts';
import type { Reader } from '../../../src/explorer/read/reader.ts';
import { silentLogger } from '../../../src/log.ts';

/** A probe whose database has these rows as its newest block, or does not answer. */
const probeOf = (newest: () => readonly SqlRow[] | null) =>
  ({
    read: async (work: (query: () => Promise<[]>, opened: readonly SqlRow[]) => Promise<unknown>) => {
      const opened = newest();
      return opened === null ? await new Promise<never>(() => undefined) : await work(async () => [], opened);
    }
  }) as unknown as Reader;

test('a decoder that does not answer keeps nobody from the newest block of the ledger; what it said last counts meanwhile', async () => {
  let height = 7;
  let isDecoderStuck = false;
  const watch = new DatabaseWatch({
    databases: { indexer: { name: 'ledger' }, decoder: { name: 'chain' } },
    probes: {
      indexer: probeOf(() => [{ height, chain: `hash of ${height}`, time: 1 }]),
      decoder: probeOf(() => (isDecoderStuck ? null : [{ height: height + 2 }]))
    },
    network: 'litecoin-regtest',
    log: silentLogger
  });
  const first = await watch.look();
  assert.deepEqual([first.newest?.height, first.decoderTip, first.lastError], [7, 9, null]);
  isDecoderStuck = true;
  for (height of [8, 9]) {
    const began = performance.now();
    const { newest, decoderTip, isRead } = await watch.look();
    assert.deepEqual([newest?.height, decoderTip, isRead], [height, 9, true]);
    assert.ok(performance.now() - began < 3_000);
  }
});
