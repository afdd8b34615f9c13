import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, rows } from '../../../../src/db/connection.ts';
import { freePort } from '../../../../src/devnet/processes/free-port.ts';
import type { DatabaseCoordinates } from '../../../../src/wire/data/database.ts';
import { databaseEnv, startServiceProcess } from '../../../../test/support/service-process.ts';

const LOOK_INTERVAL_MS = 5;
const PATIENCE_MS = 300_000;

/** An indexer as an operator starts it, a process of its own. */
export async function startIndexer(decoder: DatabaseCoordinates, indexer: DatabaseCoordinates) {
  const port = await freePort();
  const { child, exited, output } = startServiceProcess('indexer', {
    INDEXER_COIN: 'LTC',
    INDEXER_NETWORK: 'regtest',
    ...databaseEnv('DECODER', decoder),
    ...databaseEnv('INDEXER', indexer),
    INDEXER_API_HOST: '127.0.0.1',
    INDEXER_API_PORT: String(port),
    INDEXER_POLL_INTERVAL: '20'
  });
  const looking = await connect(indexer);
  const memory = (name: 'VmRSS' | 'VmHWM') => {
    const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))!;
    return Number(kib) * 1024;
  };
  return {
    /** Returns as soon as a block is committed. */
    async until(height: number): Promise<void> {
      const deadline = Date.now() + PATIENCE_MS;
      for (;;) {
        const found = await rows(looking, 'SELECT 1 FROM chain_blocks WHERE block_index = ?', [height]);
        if (found.length > 0) return;
        assert.ok(Date.now() < deadline && child.exitCode === null, `block ${height} is not there\n${output()}`);
        await sleep(LOOK_INTERVAL_MS);
      }
    },
    /** Returns as soon as it has logged this. */
    async hasLogged(words: string): Promise<void> {
      const deadline = Date.now() + PATIENCE_MS;
      for (; !output().includes(words); await sleep(LOOK_INTERVAL_MS))
        assert.ok(Date.now() < deadline && child.exitCode === null, `${words} is not logged\n${output()}`);
    },
    get residentBytes(): number {
      return memory('VmRSS');
    },
    /** The most it ever had. */
    get peakBytes(): number {
      return memory('VmHWM');
    },
    async stop(): Promise<void> {
      looking.destroy();
      child.kill('SIGTERM');
      assert.equal(await exited, 0, output());
    }
  };
}
