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
  }
];
