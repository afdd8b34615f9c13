import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { PlatformError } from '../../errors.ts';
import { databaseOf, oneOf, SYNC_MODE_NOTE, SYNC_MODES, wholeNumber } from '../../service/schema/parameters.ts';
import { IDENTIFIER_PATTERN } from '../../wire/data/schema.ts';
import type { SnapshotQuery } from '../../wire/data/snapshot.ts';

/** Blocks that sources remember. */
const OLDER_BLOCKS = 1_000;
const HEIGHT_PATTERN = '^\\d{1,16}$';

export const SnapshotQuerySchema = Type.Object({
  until: Type.Optional(wholeNumber({ min: 0, note: 'blocks up to it only' })),
  skip_lookups: Type.Optional(oneOf(['0', '1'], '; 1: without lookup tables')),
  lookups: Type.Optional(
    Type.String({
      maxLength: 14_000,
      description: '<table>:<id>:<digest of its last 1000 rows>,... of what the caller holds; the rows above come alone'
    })
  ),
  older: Type.Optional(
    wholeNumber({
      min: 0,
      note: 'with what changed in older blocks; where that is not known, with the blocks from it on'
    })
  ),
  parts: Type.Optional(
    oneOf(['0', '1'], '; 1, with older: of large tables without blocks, too, what changed, where that is known')
  ),
  sync_mode: Type.Optional(oneOf(SYNC_MODES, SYNC_MODE_NOTE))
});

/**
 * Reads a request's path and query as one SnapshotQuery; equal questions give equal objects, key order included.
 *
 * @throws {PlatformError} REQUEST_INVALID
 */
export function readSnapshotQuery(request: FastifyRequest, inclusive: boolean): SnapshotQuery {
  const { until, skip_lookups, lookups, sync_mode, older, parts } = request.query as Static<typeof SnapshotQuerySchema>;
  const { blockHeight } = request.params as { blockHeight?: string };
  const since = blockHeight === undefined ? null : readHeight('blockHeight', blockHeight);
  const infraOnly = sync_mode === 'infra-only';
  if (infraOnly && databaseOf(request).dbType !== 'indexer')
    throw new PlatformError('REQUEST_INVALID', { reason: 'sync_mode=infra-only is for indexer databases' });
  return {
    since,
    until: since === null || until === undefined ? null : readHeight('until', until),
    skipLookups: skip_lookups === '1',
    lookups: since === null ? {} : readLookups(lookups ?? ''),
    infraOnly,
    inclusive: since !== null && inclusive,
    older: since !== null && older !== undefined && until === undefined && !inclusive ? readOlder(older, since) : null,
    parts: parts === '1'
  };
}

/** Reads a block that the client has, or the next one; not further below than sources look. */
function readOlder(text: string, since: number): number {
  const height = readHeight('older', text);
  if (height > since + 1)
    throw new PlatformError('REQUEST_INVALID', { reason: 'older must be a block at or below the next one' });
  return Math.max(height, since + 1 - OLDER_BLOCKS);
}

function readHeight(name: string, text: string): number {
  const height = new RegExp(HEIGHT_PATTERN).test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(height))
    throw new PlatformError('REQUEST_INVALID', { reason: `${name} must be a non-negative integer` });
  return height;
}

/** Reads an id of 64 bits at most; as text where a number is not exact. */
function readId(text: string): number | string {
  if (!/^-?\d{1,20}$/.test(text))
    throw new PlatformError('REQUEST_INVALID', { reason: 'an id of lookups must be an integer' });
  return Number.isSafeInteger(Number(text)) ? Number(text) : text;
}

/** Reads `<table>:<id>:<digest>,...`, sorted by table. */
function readLookups(text: string): SnapshotQuery['lookups'] {
  const entries = text === '' ? [] : text.split(',');
  const read = entries.map((entry) => {
    const [table = '', id = '', digest = '', ...rest] = entry.split(':');
    const isWellFormed =
      new RegExp(IDENTIFIER_PATTERN).test(table) && /^[0-9a-f]{64}$/.test(digest) && rest.length === 0;
    if (!isWellFormed)
      throw new PlatformError('REQUEST_INVALID', { reason: 'lookups must be <table>:<id>:<digest>,...' });
    return [table, { id: readId(id), digest }] as const;
  });
  return Object.fromEntries(read.sort(([a], [b]) => (a < b ? -1 : 1)));
}
