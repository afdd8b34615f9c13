import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LitecoinOptions, type PrivateLitecoind, startLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { atEnd } from './cleanup.ts';

/** A litecoind of the calling test file's own, and the directory to start it from again. */
export interface TestLitecoind {
  readonly directory: string;
  node: PrivateLitecoind;
}

/** Starts a private litecoind; it, or whatever stands in `node` by then, is stopped and removed after the test file. */
export async function startTestLitecoind(options: LitecoinOptions = {}): Promise<TestLitecoind> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-test-ltc-'));
  const coin: TestLitecoind = { directory, node: await startLitecoind(directory, options) };
  atEnd(async () => {
    await coin.node.stop('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  return coin;
}
