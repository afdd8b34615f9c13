import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../../../src/log.ts';
import { Lease } from '../../../../src/sync/relay/lease.ts';
import type { NatsLink } from '../../../../src/sync/relay/link.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

/** A bucket that ends no entry by itself, with one of a server that may be dead. */
class EndlessBucket {
  entry = { operation: 'PUT', revision: 5, holder: 'other' };

  async get() {
    const { holder, ...entry } = this.entry;
    return { ...entry, string: () => holder };
  }

  async update(_: string, holder: string, revision: number): Promise<number> {
    if (revision !== this.entry.revision) throw Object.assign(new Error('wrong last sequence'), { code: 10_071 });
    this.entry = { operation: 'PUT', revision: revision + 1, holder };
    return this.entry.revision;
  }

  async delete() {
    this.entry = { ...this.entry, operation: 'DEL' };
  }
}

test('a lease that NATS does not end is over when it was not renewed for its term, and not before', async () => {
  const bucket = new EndlessBucket();
  const nats = { values: { create: async () => bucket } };
  const link = { connected: async () => nats } as unknown as NatsLink;
  const options = { link, key: 'decoder.litecoin.regtest', replicas: 1, mayHold: () => true, log: silentLogger };
  const lease = new Lease({ ...options, holder: 'own' });
  atEnd(() => lease.close());
  const begun = performance.now();
  const renewing = setInterval(() => bucket.entry.holder === 'other' && bucket.entry.revision++, 1_000);
  await new Promise((resolve) => setTimeout(resolve, 7_500));
  assert.equal(lease.isHeld, false, 'the other one lives');
  clearInterval(renewing);
  await eventually('it is taken', 10_000, async () => lease.isHeld);
  assert.ok(performance.now() - begun > 12_500, 'after the whole term');
});
