import assert from 'node:assert/strict';
import { PlatformError } from '../../../src/errors.ts';
import type { DigestQuery } from '../../../src/wire/data/digest.ts';
import type { SnapshotQuery } from '../../../src/wire/data/snapshot.ts';

const BODY = new TextEncoder().encode('{}');
const isWhole = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isName = (name: string) => /^[A-Za-z0-9_]{1,64}$/.test(name);
const isPosition = (value: number) => isWhole(value) || value === -1;

/** Answers of an actor, whose requests have been checked by then. */
export const ANSWERS = {
  'schema.read': () => ({ body: '{}', fingerprint: 'ff' }),
  'index-map.read': () => null,
  'snapshot.describe': ({ query }: { query: SnapshotQuery }) => {
    const { since, until, lookups } = query;
    for (const height of [since, until]) assert.ok(height === null || isWhole(height), String(height));
    for (const [table, { id, digest }] of Object.entries(lookups))
      assert.ok(isName(table) && isWhole(id) && /^[0-9a-f]{64}$/.test(digest));
    throw new PlatformError('BLOCKS_CAUGHT_UP', {});
  },
  'digest.key': () => ({ body: '{}' }),
  'digest.challenge': ({ key }: { key: string }) => {
    assert.match(key, /^[0-9a-f]{32}$/);
    return { body: '{}' };
  },
  'digest.read': ({ query: { table, range, rows, key } }: { query: DigestQuery }) => {
    assert.match(key ?? '', table === null ? /^([0-9a-f]{32})?$/ : /^[0-9a-f]{32}$/);
    assert.ok(table === null ? !range && !rows : isName(table));
    if (range) assert.ok([range.from, range.to, range.block ?? 0].every(isPosition));
    return { body: '{}' };
  },
  'lookups.page': ({ table, afterId, limit }: { table: string; afterId: number | null; limit: number }) => {
    assert.ok(isName(table) && (afterId === null || isWhole(afterId)) && limit >= 1 && limit <= 100_000);
    return { body: BODY, maxId: null, hasMore: false };
  },
  'dispensers.read': () => ({ body: BODY, height: 5 }),
  'checkpoint.read': ({ height }: { height: number | null }) => {
    assert.ok(height === null || isWhole(height));
    throw new PlatformError('RECORD_UNKNOWN', { reason: 'no checkpoint' });
  },
  'transparency.roots': (body: { page: number; limit: number }) => pageOf(body),
  'transparency.epochs': (body: { page: number; limit: number }) => pageOf(body),
  'transparency.latest': () => ({ epoch: null, merkle_root: null }),
  'transparency.proof': ({ blockIndex }: { blockIndex: number }) => {
    assert.ok(isWhole(blockIndex) && blockIndex > 0);
    return { error: 'epoch not yet committed' };
  }
} as const;

function pageOf({ page, limit }: { page: number; limit: number }) {
  assert.ok(isWhole(page) && limit >= 1 && limit <= 1_000);
  return { page, limit, total: 0, results: [] };
}
