import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { chainNetwork } from '../../src/coin/chains.ts';
import { NodeChain } from '../../src/coin/node/node-chain.ts';
import { NodeRpc } from '../../src/coin/node/node-rpc.ts';
import { silentLogger } from '../../src/log.ts';
import { createMinerApp } from '../../src/miner/app.ts';
import { Miner } from '../../src/miner/miner.ts';
import { MinerWallet } from '../../src/miner/wallet.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { FRAME_CONFIG } from './frame.ts';
import { startTestLitecoind } from './litecoin.ts';

export const NETWORK = chainNetwork('litecoin', 'regtest');
const KEY = 'key-of-the-miner-in-tests';

/** A miner beside a litecoind of its own, without the process around it. */
export async function startMiner({ idleMs = 0, hasExtensionBlock = false } = {}) {
  const { node } = await startTestLitecoind({ hasExtensionBlock });
  const rpc = new NodeRpc({ url: node.url, user: node.user, password: node.password, retries: 0 });
  const wallet = new MinerWallet(rpc, NETWORK);
  const chain = new NodeChain(rpc);
  const verify = (signal: AbortSignal) => chain.verifyNetwork(NETWORK, signal);
  const miner = new Miner({ wallet, verify, idleMs, log: silentLogger });
  const app = createMinerApp({
    version: '1.0.0',
    log: silentLogger,
    metrics: createMetrics({ service: 'miner', actors: () => [] }),
    consoleFiles: new Map(),
    tracing: undefined,
    config: { ...FRAME_CONFIG, MINER_API_KEY: [KEY], MINER_RATE_LIMIT_RPM: 1_000_000 },
    network: NETWORK,
    serves: (code) => code.toUpperCase() === NETWORK.code,
    miner,
    wallet
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const stopping = new AbortController();
  const ended = miner.run(stopping.signal);
  const ask = async (method: string, params: object = {}, key = KEY) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers of many methods
    return { status: response.status, ...((await response.json()) as { result?: any; error?: any }) };
  };
  const audited = async () => {
    const response = await fetch(`${url}/debug/audit`, { headers: { 'x-api-key': KEY } });
    const entries = (await response.json()) as { operation: string; target: string; outcome: string }[];
    return entries.map(({ operation, target, outcome }) => [operation, target, outcome]);
  };
  const stop = async () => {
    stopping.abort();
    await ended;
    await app.close();
    await rpc.close();
  };
  return { node, miner, url, ask, audited, stop };
}

/** Waits until it is true. @throws after `withinMs` */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadline, `not within ${withinMs} ms: ${what}`);
    await sleep(20);
  }
}
