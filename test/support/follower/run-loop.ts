import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { ChainLoop, type ChainLoopOptions } from '../../../src/follower/loop.ts';
import { silentLogger } from '../../../src/log.ts';
import { atEnd } from '../cleanup.ts';
import { PATIENCE_MS } from '../patience.ts';

interface TestRun extends Pick<ChainLoopOptions, 'machine' | 'work'> {
  readonly rpc: NodeRpc;
  readonly feed: { readonly errorCount: number };
  /** Returns the last block of the database as text, for comparison with the awaited one. */
  readonly readTip: () => Promise<string>;
}

/** Runs a loop of the test's own, fast to retry; it is stopped after the test file. */
export function runLoop({ machine, work, rpc, feed, readTip }: TestRun) {
  const states: string[] = [];
  const loop = new ChainLoop({
    machine,
    work,
    counters: [rpc, feed],
    silentMs: () => rpc.silentMs,
    retryDelayMs: 50,
    log: silentLogger,
    inspect: (event) => {
      if (event.type !== '@xstate.snapshot') return;
      const { state } = loop.report;
      if (states.at(-1) !== state) states.push(state);
    }
  });
  const stopping = new AbortController();
  const ended = loop.run(stopping.signal).finally(() => rpc.close());
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  atEnd(() => stop().catch(() => undefined));
  ended.catch(() => undefined); // told to whoever stops it
  /** Waits until this is the last block that was written, and the loop has caught up. */
  const reachTip = async (wanted: string) => {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const tip = await readTip().catch(() => 'nothing');
      const { state } = loop.report;
      if (tip === wanted && state === 'parsing.caughtUp') return;
      assert.ok(Date.now() < deadline, `at ${tip} instead of ${wanted}, state ${state}`);
      await Promise.race([sleep(20), ended]);
    }
  };
  return { loop, states, ended, stop, reachTip };
}
