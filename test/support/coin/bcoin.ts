import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AddressVersions } from '../../../src/coin/chains.ts';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { stopChild } from '../../../src/devnet/processes/stop-child.ts';
import { atEnd } from '../cleanup.ts';
import { PATIENCE_MS } from '../patience.ts';

/** A private Bitcoin node on regtest, in memory: no wallet, no peers. */
export interface TestBcoin {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly rpc: NodeRpc;
  height(): Promise<number>;
  /** Sends a transaction and waits until the mempool has it, for the node answers before it looks at it. @returns its id */
  send(hex: string): Promise<string>;
  /** Mines blocks with what waits in the mempool. @param script  what the reward pays to */
  mine(count: number, script: Uint8Array): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../../../node_modules/bcoin/bin/node', import.meta.url));
/** It has other addresses on regtest than all other nodes; the scripts are the same. */
const VERSIONS: AddressVersions = { bech32: 'rb', p2pkh: 0x3c, p2sh: 0x26, p2shAccepted: [0x26], wif: 0x5a };
const ACCEPT_DEADLINE_MS = 5_000;
const BATCH = 100;

/** Starts a node of the calling test file's own, which ends with it. */
export async function startTestBcoin(): Promise<TestBcoin> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-test-btc-'));
  const port = await freePort();
  const flags = ['--network=regtest', '--memory=true', `--prefix=${directory}`, '--log-level=debug'];
  const door = ['--http-host=127.0.0.1', `--http-port=${port}`, '--no-auth=true'];
  const without = ['--no-wallet=true', '--listen=false', '--max-outbound=1', '--workers=false'];
  const child = spawn(process.execPath, [PROGRAM, ...flags, ...door, ...without, '--index-tx=true'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: directory, NODE_BACKEND: 'js' }
  });
  let output = '';
  for (const pipe of [child.stdout, child.stderr])
    pipe.on('data', (chunk) => (output = `${output}${chunk}`.slice(-4_000)));
  // It asks for none; logs are searched for it.
  const [url, user, password] = [`http://127.0.0.1:${port}`, 'user', randomBytes(12).toString('hex')];
  const rpc = new NodeRpc({ url, user, password, retries: 0 });
  atEnd(async () => {
    await rpc.close();
    await stopChild(child, 'SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  const deadline = Date.now() + PATIENCE_MS;
  while (
    !(await rpc.call('getblockcount').then(
      () => true,
      () => false
    ))
  ) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`bcoin did not start: ${output}`);
    await sleep(50);
  }
  return {
    url,
    user,
    password,
    rpc,
    height: async () => Number(await rpc.call('getblockcount')),
    async send(hex) {
      const txid = String(await rpc.call('sendrawtransaction', [hex]));
      for (const end = Date.now() + ACCEPT_DEADLINE_MS; ; await sleep(5)) {
        if (((await rpc.call('getrawmempool')) as string[]).includes(txid)) return txid;
        if (Date.now() > end) throw new Error(`bcoin did not accept ${txid}: ${output}`);
      }
    },
    async mine(count, script) {
      const address = addressOf(script, VERSIONS);
      for (let left = count; left > 0; left -= BATCH) {
        await rpc.call('generatetoaddress', [Math.min(left, BATCH), address]);
      }
    }
  };
}
