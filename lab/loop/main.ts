import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readNumber } from '../../src/cli/options.ts';
import { startLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { startTestEncoder } from '../../test/support/encoder/service.ts';
import { runProgram } from '../../test/support/program.ts';
import { runLoop } from './run.ts';

/*
 * npm run loop -- --actions N
 *
 * Each action: create_tx, signed by litecoind's wallet, testmempoolaccept, broadcast_tx, mined, decoded, compared. It ends with
 * 1 unless all of them are what was asked for, and every fee is within 1 % of its rate.
 */
const actions = readArguments(
  'npm run loop -- [--actions 150]',
  { actions: { type: 'string', default: '150' } },
  ({ actions: text }) => readNumber('--actions', text, 1, 1_000_000)
);

/** Part of a fee that it may be off the rate that was asked for. */
const MOST_OFF = 0.01;

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-loop-'));
  const node = await startLitecoind(directory);
  const encoder = await startTestEncoder(node);
  try {
    const { asked, found, faults, counts, worstFee, worstFeeOf } = await runLoop(node, encoder, actions, (line) =>
      console.log(line)
    );
    for (const fault of faults.slice(0, 20)) console.log(`FAULT ${fault}`);
    for (const [combination, count] of Object.entries(counts).sort()) console.log(`${combination}: ${count}`);
    console.log(`${found} of ${asked} decoded as asked; fees within ${(worstFee * 100).toFixed(2)} % (${worstFeeOf})`);
    if (found < asked || worstFee > MOST_OFF) process.exitCode = 1;
  } finally {
    await encoder.close();
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

await runProgram(main);
