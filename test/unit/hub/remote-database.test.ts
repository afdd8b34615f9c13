import assert from 'node:assert/strict';
import { test } from 'node:test';
import { remoteDatabase } from '../../../src/hub/remote-database.ts';
import type { HubDatabaseState } from '../../../src/hub/store/asks.ts';

test('a crowd that asks whether the database answers has two probes: the one under way, and one that began after they asked', async () => {
  const state: HubDatabaseState = { isReady: true, circuit: 'closed', takesWrites: true };
  const asked = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()];
  let asks = 0;
  const database = remoteDatabase({ ask: () => asked[asks++]!.promise as never, state: () => state });
  const first = database.probe();
  const crowd = Array.from({ length: 1_000 }, () => database.probe());
  assert.equal(asks, 1);
  asked[0]!.resolve(false);
  assert.equal(await first, false);
  asked[1]!.resolve(true);
  assert.deepEqual(new Set(await Promise.all(crowd)), new Set([true]));
  assert.equal(asks, 2);
});
