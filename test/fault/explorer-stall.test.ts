import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../../src/db/connection.ts';
import { openDecoderStore } from '../../src/decoder/store.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { TEST_RULES } from '../support/indexer-ledger.ts';
import { startOwnServer } from '../support/mariadb.ts';

const READ_LIMIT_MS = 500;
let server: Awaited<ReturnType<typeof startOwnServer>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
let store: IndexerStore;
before(async () => {
  server = await startOwnServer();
  const database = (name: string): DatabaseCoordinates => ({ ...server.root, name });
  const [indexer, decoder] = [database('ledger'), database('chain')];
  await (await openDecoderStore(decoder)).database.close();
  store = await IndexerStore.open(indexer, TEST_RULES, 30); // a ledger whose writer is gone is behind
  await store.addBlocks([{ height: 1, time: 1_700_000_000, hash: 'b'.repeat(64), transactions: [] }]);
  const connection = await connect(decoder);
  await connection.query(
    'INSERT INTO blocks (block_index, block_time, block_hash_id, previous_block_hash_id) VALUES (1, 1, 1, 1)'
  );
  await connection.end();
  explorer = await startExplorer(
    { indexer, decoder },
    { DB_QUERY_TIMEOUT: String(READ_LIMIT_MS), EXPLORER_CACHE_MB: '0' }
  );
});

after(() => store.close());

async function ask(path: string) {
  const began = performance.now();
  const response = await fetch(`${explorer.url}${path}`);
  const { code } = (await response.json()) as { code?: string };
  return { status: response.status, code, tookMs: performance.now() - began };
}

async function until(path: string, isDone: (answer: Awaited<ReturnType<typeof ask>>) => boolean) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const answer = await ask(path);
    if (isDone(answer)) return answer;
    assert.ok(Date.now() < deadline, JSON.stringify(answer));
    await sleep(100);
  }
}

/** Stops a process. The signal returns before the last of its threads stands still. */
async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const isStill = (thread: string) => readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').includes(') T ');
  for (const deadline = Date.now() + 5_000; !readdirSync(`/proc/${pid}/task`).every(isStill); await sleep(1))
    assert.ok(Date.now() < deadline, `process ${pid} still runs 5 s after SIGSTOP`);
}

test('a database that is stuck is COIN_NOT_AVAILABLE within its limit; what needs none goes on; then it comes back', async () => {
  assert.equal((await ask('/api/blocks')).status, 200);
  try {
    await freeze(server.pid);
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask('/api/blocks')));
    for (const { status, code, tookMs } of answers) {
      assert.deepEqual([status, code], [503, 'COIN_NOT_AVAILABLE']);
      assert.ok(tookMs < 4 * READ_LIMIT_MS + 4_000, `${tookMs} ms: two turns, each a connection and a read`);
    }
    const refused = await until('/api/blocks', ({ tookMs }) => tookMs < READ_LIMIT_MS / 2); // by the breaker
    assert.equal(refused.status, 503);
    const ping = await ask('/api/ping');
    assert.ok(ping.status === 200 && ping.tookMs < READ_LIMIT_MS / 2, JSON.stringify(ping));
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await until('/api/blocks', ({ status }) => status === 200);
  await until('/readyz', ({ status }) => status === 200);
});
