import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runFederationChaos } from '../../lab/federation/chaos.ts';

const SECONDS = Number(process.env['FEDERATION_CHAOS_SECONDS'] ?? 25);

test('four hubs that are killed, stand still, and are parted while they take writes have the same at the end, and all that was answered', async () => {
  const { writes, faults } = await runFederationChaos({ seed: 7, hubs: 4, seconds: SECONDS }, () => undefined);
  assert.ok(writes > 20, `${writes} writes`);
  assert.ok(Object.keys(faults).length >= 3, JSON.stringify(faults));
});
