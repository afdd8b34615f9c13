import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

/** Place and value of the number by which a Berkeley database is known. */
const MAGIC = { at: 12, value: 0x00053162 };

/** Processes whose command line names a directory. */
function processesOf(directory: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(directory);
    } catch {
      return false; // it ended meanwhile
    }
  });
}

test('NODE_REFUSED: a litecoind whose wallet cannot be opened is stopped', async () => {
  const directory = temporaryDirectory('failed-start');
  const wallet = join(directory, 'data/regtest/wallets/platform');
  mkdirSync(wallet, { recursive: true });
  const file = Buffer.alloc(8_192);
  file.writeUInt32LE(MAGIC.value, MAGIC.at);
  writeFileSync(join(wallet, 'wallet.dat'), file);
  await assert.rejects(startLitecoind(directory), { code: 'NODE_REFUSED' });
  assert.deepEqual(processesOf(directory), []);
});
