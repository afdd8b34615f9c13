import { randomBytes } from 'node:crypto';
import Type from 'typebox';
import { isClaimSigned } from '../../consensus/source-signature.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { ByName } from '../../wire/by-name.ts';
import { type BlockHashes, type DatabaseId, databaseKey, hashesOf } from '../../wire/data/database.ts';
import {
  type DatabaseDigest,
  DatabaseDigestSchema,
  type DigestKey,
  DigestKeySchema,
  type DigestPart,
  type DigestQuery,
  type DigestRange,
  digestParameters,
  partParameters,
  type RangeRows,
  RangeRowsSchema,
  type TableRanges,
  TableRangesSchema
} from '../../wire/data/digest.ts';
import type { IndexMapDigest } from '../../wire/data/index-map.ts';
import { type Dispensers, DispensersSchema } from '../../wire/data/pages.ts';
import { type SchemaRecord, SchemaRecordSchema } from '../../wire/data/schema.ts';
import { type Shape, shapeOf } from '../../wire/data/shape.ts';
import { SNAPSHOT_HEADERS } from '../../wire/data/snapshot.ts';
import { SourceSizesSchema } from '../../wire/log/catalog.ts';
import { type Checkpoint, CheckpointSchema } from '../../wire/log/checkpoint.ts';
import { type LoggedBlock, LoggedBlocksSchema } from '../../wire/log/transparency.ts';
import { IdentifiedSchema, SourceStatusSchema } from '../../wire/state/status.ts';
import type { HeartbeatBody } from '../../wire/validator.ts';
import { readSnapshotHead, type SnapshotHead, wholeNumber } from './snapshot-head.ts';
import { SourceConnection } from './source-connection.ts';

const isStatus = shapeOf(SourceStatusSchema);
const isIdentified = shapeOf(IdentifiedSchema);
const isLogPage = shapeOf(LoggedBlocksSchema);
const isTree = shapeOf(ByName(Type.Unknown()));
const isCheckpoint = shapeOf(CheckpointSchema);
const isSchemaRecord = shapeOf(SchemaRecordSchema);
const isDatabaseDigest = shapeOf(DatabaseDigestSchema);
const isDigestKey = shapeOf(DigestKeySchema);
const isTableRanges = shapeOf(TableRangesSchema);
const isDispensers = shapeOf(DispensersSchema);
const isRangeRows = shapeOf(RangeRowsSchema);

const PART_REFUSALS: Readonly<Record<string, 'RANGE_TOO_LARGE' | 'DIGEST_KEY_UNKNOWN'>> = {
  409: 'DIGEST_KEY_UNKNOWN',
  413: 'RANGE_TOO_LARGE'
};

const isCatalog = shapeOf(SourceSizesSchema);

/** Size of a database at its source. */
export interface SourceSize {
  /** Bytes on disk, indexes included. */
  readonly bytes: number;
  /** Estimate; null where the source does not tell. */
  readonly rows: number | null;
}

/** Position of a source. */
export interface SourceStatus {
  readonly height: number | null;
  readonly hashes: BlockHashes;
  /** Null where the source does not tell, or not yet. */
  readonly indexMap: IndexMapDigest | null;
  /** The last block of which it has sent everything that changed; null: none since its start, undefined: it does not tell. */
  readonly settledHeight?: number | null | undefined;
  /** Amendments of its last block that it has sent; null or undefined: not known. */
  readonly amendments?: number | null | undefined;
}

/** Part of a database's history to ask for. */
export interface SinceQuery {
  readonly since: number;
  readonly until?: number;
  readonly skipLookups?: boolean;
  /** Asks also for changes in older blocks; if the source does not know them, for the blocks from this height on. */
  readonly older?: number;
  /** With `older`: of tables without blocks, too, what changed, where the source knows it. */
  readonly parts?: boolean;
  /** `<table>:<id>:<digest>` of the lookup tables that this replica holds. */
  readonly lookups?: readonly string[];
}

/** A block as `after` names it: its height and `blockText`. */
export interface BlockName {
  readonly height: number;
  readonly text: string;
}

interface SourceOptions {
  /** PEM of further authorities for its certificate. */
  readonly ca?: string | undefined;
  /** Snapshots and stream with the ten tables of an infra-only subscription. */
  readonly infraOnly?: boolean;
}

/** The REST requests of one database's replica to a sync server. */
export class SourceClient extends SourceConnection {
  readonly id: DatabaseId;
  readonly #infraOnly: boolean;

  constructor(url: string, apiKey: string | undefined, id: DatabaseId, { ca, infraOnly = false }: SourceOptions = {}) {
    super(url, apiKey, ca);
    this.id = id;
    this.#infraOnly = infraOnly;
  }

  async status(signal?: AbortSignal): Promise<SourceStatus> {
    const found = await this.#json(this.path('status'), isStatus, signal);
    return {
      height: found.block_height,
      hashes: hashesOf(this.id.dbType, found),
      indexMap: found.index_map ?? null,
      settledHeight: found.settled_height,
      amendments: found.amendments
    };
  }

  /**
   * Marks by which the source is told from the others: the key that it holds and the database that it reads, where it signs them;
   * host and port of one that signs nothing. That its key is its own is proven, that its database is, is not: see `majorityOf`.
   */
  async marks(signal?: AbortSignal): Promise<readonly string[]> {
    const challenge = randomBytes(32).toString('hex');
    const found: unknown = await this.#json(`${this.path('status')}?challenge=${challenge}`, isStatus, signal);
    if (!isIdentified.Check(found)) return [placeOf(this.url)];
    const { pubkey, origin, sig } = found.identity;
    const isOwn = isClaimSigned({ database: databaseKey(this.id), challenge, origin }, { pubkey, sig });
    if (!isOwn) return [placeOf(this.url)];
    return [`key ${pubkey.toLowerCase()}`, ...(origin === null ? [] : [`database ${origin}`])];
  }

  /** Asks for all databases that the source serves: chain, network, database type. */
  async statusTree(signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#json('/status', isTree, signal);
  }

  /** Returns the size of the database at the source; null if the source does not name it. */
  async size(signal?: AbortSignal): Promise<SourceSize | null> {
    const { databases } = await this.#json('/catalog', isCatalog, signal).catch((caught: unknown) => {
      if (hasCode(caught, 'SOURCE_REFUSED') || hasCode(caught, 'SOURCE_INVALID')) return { databases: [] };
      throw caught;
    });
    const { chain, network, dbType } = this.id;
    const entry = databases.find((each) => each.coin === chain && each.network === network && each.dbType === dbType);
    if (!entry?.total_bytes) return null;
    return { bytes: entry.total_bytes, rows: entry.row_estimate ?? null };
  }

  /** @throws {PlatformError} SOURCE_INVALID, SOURCE_REFUSED, SOURCE_UNREACHABLE */
  async schema(signal?: AbortSignal): Promise<SchemaRecord> {
    return this.#json(this.path('schema'), isSchemaRecord, signal);
  }

  /** Asks for one page of an indexer's transparency log, newest block first. @param limit at most 1000 */
  async logPage(page: number, limit: number, signal?: AbortSignal): Promise<LoggedBlock[]> {
    const path = `${this.path('transparency')}/roots?page=${page}&limit=${limit}`;
    return (await this.#json(path, isLogPage, signal)).results;
  }

  /**
   * Asks for the source's hashes of one block, by the headers of a snapshot that ends there.
   *
   * @returns null when the source does not tell
   */
  async hashesAt(height: number, signal?: AbortSignal): Promise<BlockHashes | null> {
    const head = await this.headAt(height, signal);
    return head?.height === height ? head.hashes : null;
  }

  /**
   * Asks for the headers of a snapshot that is to end at a block. Servers of other makes end it at their tip.
   *
   * @returns null when the source does not answer with a snapshot
   */
  async headAt(height: number, signal?: AbortSignal): Promise<SnapshotHead | null> {
    if (height === 0) return null;
    const response = await this.get(
      this.sincePath({ since: height - 1, until: height, skipLookups: true }),
      {},
      signal
    );
    response.body.on('error', () => undefined).destroy();
    return response.status === 200 ? readSnapshotHead(response.headers, this.id.dbType) : null;
  }

  /** Asks for a decoder's dispensers, and for the source's tip at which it read them, if it names one. */
  async dispensers(signal?: AbortSignal): Promise<Dispensers & { readonly height: number | null }> {
    const { value, headers } = await this.answer(this.path('snapshot-dispensers'), isDispensers, signal);
    return { ...value, height: wholeNumber(headers[SNAPSHOT_HEADERS.height]) };
  }

  /** Asks for the newest checkpoint of an indexer, as it was signed; null where the source has none. */
  async latestCheckpoint(signal?: AbortSignal): Promise<Checkpoint | null> {
    try {
      const found = await this.#json(`${this.path('checkpoint')}/latest`, isCheckpoint, signal);
      const { chain, network } = this.id;
      if (found.chain === chain && found.network === network) return found;
      throw this.invalid(this.path('checkpoint'), 'is of another chain');
    } catch (caught) {
      if (hasCode(caught, 'SOURCE_REFUSED') && caught.detail['status'] === 404) return null;
      throw caught;
    }
  }

  /**
   * Asks for the key of the digests that the source is making, or has made, of its tip.
   *
   * @throws {PlatformError} SOURCE_REFUSED with `status` 404 where the source has no such route; SOURCE_INVALID where its digests are of
   * another algorithm: then nothing is compared, because a weaker one is what an attacker would ask for
   */
  async digestKey(signal?: AbortSignal, part: DigestPart = null): Promise<DigestKey> {
    return this.#json(`${this.path('digest')}/key${partParameters(part)}`, isDigestKey, signal);
  }

  /** Digests of all tables under a key that was given, once they are made. @throws {PlatformError} DIGEST_KEY_UNKNOWN */
  async digest(key: string, signal?: AbortSignal): Promise<DatabaseDigest> {
    return this.#digestPart({ table: null, range: null, rows: false, key }, isDatabaseDigest, signal);
  }

  /** Digests of the ranges of one table, or of those within a range of it. @throws {PlatformError} DIGEST_KEY_UNKNOWN */
  async digestRanges(
    table: string,
    range: DigestRange | null,
    key: string,
    signal?: AbortSignal,
    settled = false,
    ids = true
  ): Promise<TableRanges> {
    return this.#digestPart({ table, range, rows: false, settled, ids, key }, isTableRanges, signal);
  }

  /** Asks for the rows of a range. @throws {PlatformError} DIGEST_KEY_UNKNOWN, RANGE_TOO_LARGE when they are too many for one answer */
  async digestRows(
    table: string,
    range: DigestRange,
    key: string,
    signal?: AbortSignal,
    ids = true
  ): Promise<RangeRows> {
    return this.#digestPart({ table, range, rows: true, ids, key }, isRangeRows, signal);
  }

  async #digestPart<T>(query: DigestQuery, shape: Shape<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await this.#json(this.#digestPath(query), shape, signal);
    } catch (caught) {
      const code = hasCode(caught, 'SOURCE_REFUSED') && PART_REFUSALS[String(caught.detail['status'])];
      throw code ? new PlatformError(code, { reason: caught.message, table: query.table }) : caught;
    }
  }

  #digestPath(query: DigestQuery): string {
    const parameters = digestParameters(query);
    return `${this.path('digest')}${parameters.size > 0 ? `?${parameters}` : ''}`;
  }

  /** Sends a replica's height to the source. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED */
  async heartbeat(heartbeat: HeartbeatBody, signal?: AbortSignal): Promise<void> {
    await this.post(this.path('validator-heartbeat'), heartbeat, signal);
  }

  path(route: string): string {
    const { dbType, chain, network } = this.id;
    return `/${route}/${dbType}/${chain}/${network}`;
  }

  /** Returns the path of `snapshot` or `subscribe`, with the tables that are wanted. */
  modePath(route: 'snapshot' | 'subscribe'): string {
    return `${this.path(route)}${this.#infraOnly ? '?sync_mode=infra-only' : ''}`;
  }

  /** Returns the path of the live stream, with amendments, and with what followed a block if one is given. */
  streamPath(after?: BlockName): string {
    const behind = after ? `&after=${after.height}:${encodeURIComponent(after.text).replaceAll('%3A', ':')}` : '';
    return `${this.modePath('subscribe')}${this.#infraOnly ? '&' : '?'}amendments=1${behind}`;
  }

  sincePath({ since, until, skipLookups, lookups, older, parts }: SinceQuery): string {
    const query = new URLSearchParams();
    if (until !== undefined) query.set('until', String(until));
    if (skipLookups) query.set('skip_lookups', '1');
    if (lookups !== undefined && lookups.length > 0) query.set('lookups', lookups.join(','));
    if (older !== undefined) query.set('older', String(older));
    if (parts) query.set('parts', '1');
    if (this.#infraOnly) query.set('sync_mode', 'infra-only');
    return `${this.path('snapshot')}/since/${since}${query.size > 0 ? `?${query}` : ''}`;
  }

  async #json<T>(path: string, shape: Shape<T>, signal?: AbortSignal): Promise<T> {
    return (await this.answer(path, shape, signal)).value;
  }
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Returns host and port: other paths, schemes and spellings of them lead to the same server. */
function placeOf(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/\.$/, '').replace(LOOPBACK, 'loopback');
  return `place ${host}:${port || (protocol === 'https:' ? 443 : 80)}`;
}
