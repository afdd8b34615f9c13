import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../attack.ts';

const BEHIND_MS = 4_000;

/** A node that misbehaves. */
export const NODE_ATTACKS: readonly Attack[] = [
  {
    name: 'a node that is only behind makes everybody roll back, or halt',
    async *play(arena) {
      yield;
      await sleep(BEHIND_MS); // all have what the node has
      const before = await arena.replaced();
      const hash = await arena.rpc.call('getblockhash', [(await arena.height()) - 5]);
      await arena.rpc.call('invalidateblock', [hash]);
      await sleep(BEHIND_MS);
      await arena.rpc.call('reconsiderblock', [hash]);
      await sleep(BEHIND_MS / 4);
      const after = await arena.replaced();
      return () => {
        assert.equal(after, before, 'blocks were taken for replaced ones');
        return Promise.resolve();
      };
    }
  },
  {
    name: 'a mempool of large consolidations is too large for one statement',
    async *play(arena) {
      const dusty = await arena.person('consolidations', 1);
      const count = 1_200;
      const hex = await dusty.spend(
        dusty.take(),
        Array.from({ length: count }, () => ({ amount: 10_000n, script: dusty.script }))
      );
      const { txid } = (await arena.rpc.call('decoderawtransaction', [hex])) as { txid: string };
      yield;
      yield;
      const spent = Array.from({ length: count }, (_, vout) => ({ txid, vout, amount: 10_000n }));
      for (let at = 0; at < count; at += 600) await dusty.gather(spent.slice(at, at + 600));
      yield;
      return () => Promise.resolve();
    }
  }
];
