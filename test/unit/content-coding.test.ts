import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseCoding } from '../../src/http/content-coding.ts';

test('zstd only for clients that weigh it above gzip, gzip for everyone else', () => {
  for (const header of [
    'zstd',
    'zstd, gzip;q=0.5',
    'gzip;q=0.999, ZSTD',
    'br, zstd;q=0.2',
    'gzip;q=0, *',
    'zstd;q=1.0, *;q=0.9'
  ])
    assert.equal(chooseCoding(header), 'zstd', header);
  for (const header of [
    undefined,
    '',
    '*',
    'gzip',
    'identity',
    'br',
    'gzip, deflate, br, zstd',
    'gzip;q=0.5, zstd;q=0.5',
    'zstd;q=0',
    'zstd;q=0.5, x-gzip',
    'zstd;q=0.5, *',
    'zstd;q=2',
    'zstd;level=1',
    'gzip;q=0',
    `${'a,'.repeat(600)}zstd`
  ])
    assert.equal(chooseCoding(header), 'gzip', `${header}`);
});
