import { PlatformError } from '../../errors.ts';
import { type BlockHashes, blockText, type DbType, hashesOf, SCHEMA_VERSION } from '../../wire/data/database.ts';
import type { Learned } from '../../wire/data/messages.ts';
import { SNAPSHOT_HEADERS, type SnapshotCoding } from '../../wire/data/snapshot.ts';

/** Asks for a snapshot's body as zstd, which is smaller and costs less; a source that has none sends gzip. */
export const ACCEPT_SNAPSHOT = { 'accept-encoding': 'zstd, gzip;q=0.5' } as const;

/** The facts in the response headers of a snapshot. */
export interface SnapshotHead {
  readonly height: number;
  /** Null where the headers do not name the block: some servers' full snapshots of a decoder. */
  readonly hashes: BlockHashes | null;
  readonly coding: SnapshotCoding;
  /** A strong validator: equal tags mean equal bytes. Null where the source has none. */
  readonly etag: string | null;
  /** Tables that a since-snapshot holds whole. */
  readonly whole: ReadonlySet<string>;
  /** The lowest block in a since-snapshot that was asked for older ones; null: the source does not say. */
  readonly firstBlock: number | null;
  /** Amendments of the block that are in a since-snapshot; null: the source does not say. */
  readonly amendments: number | null;
  /** False: amendments of the block may follow. Null: the source does not say. */
  readonly isSettled: boolean | null;
  /** Null: the source knows what it sent, or does not say. */
  readonly learned: Learned | null;
  /** Life of the source that built it; null: it does not say. */
  readonly life: string | null;
  readonly fingerprint: string | null;
  /** Estimate of the rows in the body. */
  readonly rows: number | null;
}

/** Reads the headers of a snapshot. @throws {PlatformError} SOURCE_INVALID */
export function readSnapshotHead(headers: Readonly<Record<string, string>>, dbType: DbType): SnapshotHead {
  const text = (name: keyof typeof SNAPSHOT_HEADERS) => headers[SNAPSHOT_HEADERS[name]];
  const height = wholeNumber(text('height'));
  if (height === null) throw new PlatformError('SOURCE_INVALID', { reason: 'a snapshot without X-Block-Height' });
  const version = text('schemaVersion');
  if (version !== undefined && version !== String(SCHEMA_VERSION[dbType])) {
    const reason = `the source's snapshots have schema version ${version.slice(0, 20)}, this client reads ${SCHEMA_VERSION[dbType]}`;
    throw new PlatformError('SOURCE_INVALID', { reason });
  }
  const etag = headers['etag'];
  const values = {
    ledger_hash: text('ledgerHash'),
    actions_hash: text('actionsHash'),
    contract_hash: text('contractHash'),
    block_hash: text('blockHash')
  };
  return {
    height,
    hashes: named(hashesOf(dbType, values)),
    coding: codingOf(headers),
    etag: etag !== undefined && /^"[^"]{1,200}"$/.test(etag) ? etag : null,
    whole: new Set((text('wholeTables') ?? '').split(',').filter(Boolean)),
    firstBlock: wholeNumber(text('firstBlock')),
    amendments: wholeNumber(text('amendments')),
    isSettled: text('settled') === undefined ? null : text('settled') === '1',
    learned: learnedOf(text('learned')),
    life: /^[\w-]{1,64}$/.exec(text('life') ?? '')?.[0] ?? null,
    fingerprint: text('fingerprint') ?? null,
    rows: wholeNumber(text('rows'))
  };
}

function learnedOf(text = ''): Learned | null {
  const [, height, id] = /^(\d{1,15}) ([\w-]{1,64})$/.exec(text) ?? [];
  return height === undefined || id === undefined ? null : { height: Number(height), id };
}

const named = (hashes: BlockHashes): BlockHashes | null => (blockText(hashes) === null ? null : hashes);

/** Returns the compression of a snapshot's body. @throws {PlatformError} SOURCE_INVALID */
export function codingOf(headers: Readonly<Record<string, string>>): SnapshotCoding {
  const coding = headers['content-encoding'] ?? 'none';
  if (coding === 'gzip' || coding === 'zstd') return coding;
  const reason = `the source sent content-encoding ${coding.slice(0, 40)}; a snapshot must be gzip or zstd`;
  throw new PlatformError('SOURCE_INVALID', { reason });
}

/** Reads a header that is a whole number; null when it is none. */
export function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
