import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CircuitBreaker } from '../../../../actors/runtime/thread/circuit.ts';
import { ReplicaOutcomes } from '../../../../src/replication/replica/outcomes.ts';

/** MariaDB's number and words for a disk without room. */
const FULL = { errno: 1021, sqlMessage: "Disk got full writing '/tmp/x'" };

test('a replica whose circuit is open goes on saying what is wrong with its database', async () => {
  const settings = { failureThreshold: 2, cooldownMs: 60_000, trialTimeoutMs: 60_000 };
  const breaker = new CircuitBreaker({ ...settings, inspect: () => undefined, onChange: () => undefined });
  const data = { id: { chain: 'litecoin', network: 'regtest' }, coordinates: { name: 'replica' } };
  const parts = { replica: { data, drop: (fault: unknown) => fault }, breaker };
  const outcomes = new ReplicaOutcomes(parts as unknown as ConstructorParameters<typeof ReplicaOutcomes>[0]);
  for (let count = 0; count < 2; count += 1) outcomes.toFault(Object.assign(new Error(FULL.sqlMessage), FULL));
  assert.equal(breaker.state, 'open');
  await assert.rejects(outcomes.inspect(AbortSignal.timeout(1_000)), /Disk got full.*make room for its files/);
});
