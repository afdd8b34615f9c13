import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { atEnd } from '../../support/cleanup.ts';
import { runHub } from '../../support/hub/run-hub.ts';

test('RATE_LIMITED: upgrades count as requests do', async () => {
  const hub = await runHub({ HUB_RATE_LIMIT_RPM: '3' });
  atEnd(() => hub.stop());
  const open = () =>
    new Promise<number>((resolve, reject) => {
      const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/hub-db/subscribe`);
      socket.once('open', () => {
        socket.terminate();
        resolve(101);
      });
      socket.once('unexpected-response', (_, { statusCode = 0 }) => resolve(statusCode));
      socket.once('error', reject);
    });
  const statuses = [];
  for (let n = 0; n < 5; n++) statuses.push(await open());
  assert.deepEqual(statuses, [101, 101, 101, 429, 429]);
});
