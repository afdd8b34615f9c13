import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { readNumber } from '../../src/cli/options.ts';
import { startLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { readArguments } from '../../test/support/arguments.ts';
import { startTestEncoder } from '../../test/support/encoder/service.ts';
import { signPsbt } from '../../test/support/encoder/signer.ts';
import { runProgram } from '../../test/support/program.ts';
import { openAccounts } from '../loop/wallet.ts';
import { type Figure, median, p99, report } from './support/figures.ts';

const { rate, seconds, parallel, json } = readArguments(
  'npm run bench -- encoder [--rate 100] [--seconds 10] [--parallel 1000] [--json FILE]',
  {
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '10' },
    /** Calls that are sent at once. */
    parallel: { type: 'string', default: '1000' },
    json: { type: 'string' }
  },
  ({ json, ...options }) => ({
    json,
    rate: readNumber('--rate', options.rate, 1, 1_000),
    seconds: readNumber('--seconds', options.seconds, 1, 3_600),
    parallel: readNumber('--parallel', options.parallel, 1, 2_000)
  })
);

/** Figures that are compared with nothing but their bound. */
const ABSOLUTE = { reference: 0, unit: 'ms', compare: 'above' } as const;

/** Satoshis per 1000 virtual bytes. */
const FEE_PER_KB = 12_000;

interface Created {
  readonly psbt: string;
  readonly fee: string;
  readonly inputs: readonly { readonly txid: string; readonly vout: number }[];
}

async function measure(): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-bench-'));
  const node = await startLitecoind(directory);
  const encoder = await startTestEncoder(node);
  try {
    const [account] = await openAccounts(node, Math.min(2_400, rate * seconds + parallel + 50), ['bech32']);
    const request = { pubkey: account!.address, data: 'SEND|0|TOK|5|someone', feePerKb: FEE_PER_KB };
    const call = () => encoder.call<Created>('create_tx', request);
    for (let first = 0; first < 20; first++) await call();
    const delays = await pace(call);
    const began = performance.now();
    const replies = await Promise.all(Array.from({ length: parallel }, call));
    const tookMs = performance.now() - began;
    const keys = replies.flatMap(({ inputs }) => inputs.map(({ txid, vout }) => `${txid}:${vout}`));
    const shared = keys.length - new Set(keys).size;
    const off = replies.map((reply) => feeOff(reply, account!.privateKey));
    console.log(`${parallel} calls at once: ${Math.round((parallel * 1_000) / tookMs)} a second`);
    console.log(`at ${rate}/s, the median: ${median(delays).toFixed(1)} ms`);
    return [
      { ...ABSOLUTE, what: `create_tx at ${rate}/s, p99`, measured: p99(delays), most: 25, aim: 10 },
      { ...ABSOLUTE, what: 'inputs that calls at once share', unit: '', measured: shared, most: 0, aim: 0 },
      { ...ABSOLUTE, what: 'fee against the rate asked for', unit: '%', measured: Math.max(...off), most: 1, aim: 0.5 }
    ];
  } finally {
    await encoder.close();
    await node.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Returns the difference of a fee from the rate of the signed transaction, in percent. */
function feeOff({ psbt, fee }: Created, privateKey: Uint8Array): number {
  const { vsize } = Transaction.fromRaw(Buffer.from(signPsbt(psbt, privateKey), 'hex'), { allowUnknownOutputs: true });
  const wanted = (FEE_PER_KB * vsize) / 1_000;
  return (100 * Math.abs(Number(fee) - wanted)) / wanted;
}

/** Calls at a steady rate, whether earlier ones are answered or not. @returns ms of each from when it was due */
async function pace(call: () => Promise<unknown>): Promise<number[]> {
  const began = performance.now();
  const answers: Promise<number>[] = [];
  for (let number = 0; number < rate * seconds; number++) {
    const due = began + (number * 1_000) / rate;
    await sleep(Math.max(0, due - performance.now()));
    answers.push(call().then(() => performance.now() - due));
  }
  return await Promise.all(answers);
}

await runProgram(async () => report('encoder', await measure(), json));
