import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadAhead } from '../../../src/tracker/coins/read-ahead.ts';

test('a page that was read ahead is given once, and only while what it was read from stands', async () => {
  const pages = new ReadAhead<string>();
  pages.read('a', '1', async () => 'of version 1');
  assert.equal(await pages.take('a', '1'), 'of version 1');
  assert.equal(await pages.take('a', '1'), null);
  pages.read('a', '1', async () => 'of version 1');
  assert.equal(await pages.take('a', '2'), null);
});

test('a read ahead that fails is read again by whoever asks', async () => {
  const pages = new ReadAhead<string>();
  pages.read('a', '1', () => Promise.reject(new Error('the database is away')));
  assert.equal(await pages.take('a', '1'), null);
});

test('four pages wait at most, each for five seconds', async () => {
  let now = 0;
  const pages = new ReadAhead<number>(() => now);
  for (let page = 0; page < 5; page++) pages.read(String(page), '1', async () => page);
  assert.equal(await pages.take('4', '1'), null);
  assert.equal(await pages.take('3', '1'), 3);
  now = 5_001;
  for (let page = 5; page < 9; page++) pages.read(String(page), '1', async () => page);
  assert.equal(await pages.take('0', '1'), null);
  assert.equal(await pages.take('8', '1'), 8);
});
