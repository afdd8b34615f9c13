import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseCoding, chooseOptionalCoding } from '../../../../src/sync/http/content-coding.ts';

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

test('a body that may go as it is does so unless gzip or zstd is accepted', () => {
  for (const header of [undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip;q=0, zstd;q=0', '*;q=0'])
    assert.equal(chooseOptionalCoding(header), null, `${header}`);
  for (const [header, coding] of [
    ['gzip', 'gzip'],
    ['*', 'gzip'],
    ['zstd', 'zstd'],
    ['gzip;q=0, zstd;q=0.1', 'zstd'],
    ['zstd, gzip', 'gzip']
  ] as const)
    assert.equal(chooseOptionalCoding(header), coding, header);
});
