import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { NodeWatch } from '../../../src/coin/node/node-watch.ts';
import { findProgram } from '../../../src/config/programs.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { stopChild } from '../../../src/devnet/processes/stop-child.ts';
import type { Alarm } from '../../../src/wire/state/alarm.ts';
import { atEnd } from '../../support/cleanup.ts';
import { PATIENCE_MS } from '../../support/patience.ts';

const TESTNET = chainNetwork('litecoin', 'testnet');

/** A litecoind of the test network that knows no peer: it has block 0, and waits for the others. */
async function startLonelyNode(): Promise<NodeRpc> {
  const directory = mkdtempSync(join(tmpdir(), 'platform-test-download-'));
  const port = await freePort();
  const [user, password] = ['u', 'p'];
  const child = spawn(
    findProgram('litecoind', ['/usr/bin/litecoind', '/usr/local/bin/litecoind']),
    [
      `-datadir=${directory}`,
      '-testnet',
      '-printtoconsole=0',
      '-server=1',
      '-txindex=1',
      '-listen=0',
      '-connect=0',
      '-rpcbind=127.0.0.1',
      '-rpcallowip=127.0.0.1',
      `-rpcport=${port}`,
      `-rpcuser=${user}`,
      `-rpcpassword=${password}`
    ],
    { stdio: 'ignore' }
  );
  const rpc = new NodeRpc({ url: `http://127.0.0.1:${port}`, user, password, retries: 0 });
  atEnd(async () => {
    await rpc.close();
    await stopChild(child, 'SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(100)) {
    const isUp = await rpc.call('getblockcount').then(
      () => true,
      () => false
    );
    if (isUp) return rpc;
    assert.ok(child.exitCode === null && Date.now() < end, 'litecoind does not start');
  }
}

test('NODE_BEHIND: a node in its initial download is not fit for who needs the whole chain, and says how far it is', async () => {
  const rpc = await startLonelyNode();
  const alarms: (Alarm | null)[] = [];
  const stopping = new AbortController();
  const watch = (isWhole: boolean, onAlarm: (alarm: Alarm | null) => void = () => undefined) => {
    const made = new NodeWatch({
      chain: new NodeChain(rpc),
      network: TESTNET,
      needs: { hasIndex: true, blocksFrom: null, isWhole },
      silentMs: () => rpc.silentMs,
      onAlarm,
      everyMs: 20
    });
    return { made, run: made.run(stopping.signal) };
  };
  const [needy, modest] = [watch(true, (alarm) => alarms.push(alarm)), watch(false)];
  const until = async (isSo: () => boolean, what: string) => {
    for (const end = Date.now() + PATIENCE_MS; !isSo(); await sleep(20)) assert.ok(Date.now() < end, what);
  };
  await until(() => needy.made.alarm?.code === 'NODE_BEHIND', 'the download is told');
  await until(() => modest.made.isFit, 'who takes what there is finds the node fit');
  assert.match(needy.made.alarm!.reason, /^the node is in its initial download: block 0 of 0, 0\.0% verified$/);
  assert.equal(needy.made.isFit, false);
  assert.equal(needy.made.tip, null, 'no tip is told that the network has long left behind');
  assert.deepEqual(
    alarms.map((alarm) => alarm?.code),
    ['NODE_BEHIND'],
    'told once'
  );
  stopping.abort();
  await Promise.all([needy.run, modest.run]);
});
