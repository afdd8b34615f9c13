import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasCode, PlatformError } from '../../../../src/errors.ts';
import { silentLogger } from '../../../../src/log.ts';
import { pauseAfter, SourceBackoff } from '../../../../src/replication/replica/parts/backoff.ts';
import { testReplica } from '../../../support/sync/test-replica.ts';

const HOUR_MS = 3_600_000;
const MAX_MS = 900_000;
const RECONNECT_MS = 5_000;
/** A source gives so many full snapshots an hour. */
const ALLOWED = 12;

test('snapshots that fail by themselves are asked for less often than a source allows', () => {
  let attempts = 0;
  for (let at = 0; at < HOUR_MS; at += RECONNECT_MS + pauseAfter(attempts, RECONNECT_MS, MAX_MS)) attempts++;
  assert.ok(attempts > 5 && attempts < ALLOWED, `${attempts} attempts`);
});

test('the first reason of failed attempts stays, in what is waited for and in what is refused then', async () => {
  const coordinates = { host: '127.0.0.1', port: 1, name: 'none', user: 'none', pass: 'none' };
  const { data, sources, progress } = testReplica(coordinates, 'http://127.0.0.1:1');
  const waits: (string | null)[] = [];
  const waiting = (on: string | null) => void waits.push(on);
  const parts = {
    data: { ...data, reconnectDelayMs: 1 },
    log: silentLogger,
    progress: { ...progress, waiting },
    sources
  };
  const backoff = new SourceBackoff(parts, 'a snapshot', MAX_MS);
  const { signal } = new AbortController();
  for (let attempt = 1; attempt <= 3; attempt++) {
    await backoff.pause(signal);
    const fault = new PlatformError('SOURCE_TRUNCATED', { reason: `the schema changed ${attempt}` });
    await assert.rejects(
      backoff.attempt(() => Promise.reject(fault)),
      fault
    );
  }
  assert.equal(waits.length, 2);
  assert.match(String(waits[0]), /2 failed: the schema changed 1/);
  const refusal = new PlatformError('SOURCE_REFUSED', { reason: 'too many requests', status: 429 });
  await assert.rejects(
    backoff.attempt(() => Promise.reject(refusal)),
    (error) => {
      assert.ok(hasCode(error, 'SOURCE_REFUSED'));
      assert.match(error.message, /too many requests.*3 times: the schema changed 1/);
      assert.equal(error.detail['status'], 429);
      return true;
    }
  );
  backoff.succeeded();
  await backoff.pause(signal);
  assert.equal(waits.length, 2);
});
