import { pipeline } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { createGunzip } from 'node:zlib';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { Agent, type Dispatcher, request } from 'undici';
import { hasCode, PlatformError } from '../errors.ts';
import { type Checkpoint, CheckpointSchema } from '../wire/checkpoint.ts';
import { type BlockHashes, type DatabaseId, type DbType, SCHEMA_VERSION } from '../wire/database.ts';
import {
  type DatabaseDigest,
  DatabaseDigestSchema,
  type DigestQuery,
  type DigestRange,
  digestParameters,
  type RangeRows,
  RangeRowsSchema,
  type TableRanges,
  TableRangesSchema
} from '../wire/digest.ts';
import { type IndexMapDigest, IndexMapSchema } from '../wire/index-map.ts';
import { parseJson } from '../wire/json.ts';
import { type Dispensers, DispensersSchema } from '../wire/pages.ts';
import { type SchemaRecord, SchemaRecordSchema } from '../wire/schema.ts';
import { SNAPSHOT_HEADERS, type SnapshotCoding } from '../wire/snapshot.ts';
import type { HeartbeatBody } from '../wire/validator.ts';

const CONNECT_TIMEOUT_MS = 5_000;
/** A snapshot's headers come when its build has begun. */
const HEADERS_TIMEOUT_MS = 60_000;
/** Silence in the middle of a body. */
const BODY_TIMEOUT_MS = 60_000;
const MAX_JSON_BYTES = 64 * 2 ** 20;
/** A source is not waited for longer, whatever it says. */
const MAX_RETRY_AFTER_S = 3_600;
const MAX_ERROR_BYTES = 16 * 1024;

const Height = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = Type.Optional(Type.Union([Type.String({ maxLength: 250 }), Type.Null()]));
const StatusSchema = Type.Object({
  block_height: Type.Union([Height, Type.Null()]),
  index_map: Type.Optional(Type.Union([IndexMapSchema, Type.Null()])),
  ledger_hash: Hash,
  actions_hash: Hash,
  contract_hash: Hash,
  block_hash: Hash
});
const isStatus = Compile(StatusSchema);
const LogEntry = Type.Object({ block_index: Height, ledger_hash: Hash, actions_hash: Hash, contract_hash: Hash });
const isLogPage = Compile(Type.Object({ results: Type.Array(LogEntry, { maxItems: 1_000 }) }));
const isTree = Compile(Type.Record(Type.String(), Type.Unknown()));
const isCheckpoint = Compile(CheckpointSchema);
const isSchemaRecord = Compile(SchemaRecordSchema);
const isDatabaseDigest = Compile(DatabaseDigestSchema);
const isTableRanges = Compile(TableRangesSchema);
const isDispensers = Compile(DispensersSchema);
const isRangeRows = Compile(RangeRowsSchema);

const CatalogEntry = Type.Object({
  coin: Type.String(),
  network: Type.String(),
  dbType: Type.String(),
  total_bytes: Type.Optional(Height),
  row_estimate: Type.Optional(Height)
});
const isCatalog = Compile(Type.Object({ databases: Type.Array(CatalogEntry, { maxItems: 10_000 }) }));

/** How large a database is at its source. */
export interface SourceSize {
  /** On disk, indexes included. */
  readonly bytes: number;
  /** Estimate; null where the source does not tell. */
  readonly rows: number | null;
}

/** Where a source stands. */
export interface SourceStatus {
  readonly height: number | null;
  readonly hashes: BlockHashes;
  /** Null where the source does not tell, or not yet. */
  readonly indexMap: IndexMapDigest | null;
}

/** Asks for a snapshot's body as zstd, which is smaller and costs less; a source that has none sends gzip. */
export const ACCEPT_SNAPSHOT = { 'accept-encoding': 'zstd, gzip;q=0.5' } as const;

/** What the response headers of a snapshot say. */
export interface SnapshotHead {
  readonly height: number;
  readonly hashes: BlockHashes;
  readonly coding: SnapshotCoding;
  /** A strong validator: equal tags mean equal bytes. Null where the source has none. */
  readonly etag: string | null;
  /** Tables of which a since-snapshot holds every row. */
  readonly whole: ReadonlySet<string>;
  readonly fingerprint: string | null;
  /** Estimate of the rows in the body. */
  readonly rows: number | null;
}

/** A response whose body was not read yet. */
export interface OpenResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Dispatcher.ResponseData['body'];
}

/** Which part of a database's history is asked for. */
export interface SinceQuery {
  readonly since: number;
  readonly until?: number;
  readonly skipLookups?: boolean;
  /** `<table>:<id>:<digest>` of the lookup tables that this replica holds. */
  readonly lookups?: readonly string[];
}

export interface SourceOptions {
  /** PEM of further authorities for its certificate. */
  readonly ca?: string | undefined;
  /** Snapshots and stream with the ten tables of an infra-only subscription. */
  readonly infraOnly?: boolean;
}

/** A sync server's REST side, for one database. Its answers are hostile until checked; redirects are never followed. */
export class SourceClient {
  readonly url: string;
  readonly id: DatabaseId;
  readonly #apiKey: string | undefined;
  readonly #infraOnly: boolean;
  readonly #agent: Agent;
  /** The authorities of its certificate where they are not the system's alone. */
  readonly authorities: readonly string[] | undefined;

  constructor(url: string, apiKey: string | undefined, id: DatabaseId, { ca, infraOnly = false }: SourceOptions = {}) {
    this.url = url.replace(/(?<!\/)\/+$/, '');
    this.id = id;
    this.#apiKey = apiKey;
    this.#infraOnly = infraOnly;
    this.authorities = ca === undefined ? undefined : [...getCACertificates('default'), ca];
    this.#agent = new Agent({
      connect: { timeout: CONNECT_TIMEOUT_MS, ...(this.authorities ? { ca: [...this.authorities] } : {}) },
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: BODY_TIMEOUT_MS
    });
  }

  /** The `Authorization` header for this source and no other. */
  get authorization(): Readonly<Record<string, string>> {
    return this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` };
  }

  async status(signal?: AbortSignal): Promise<SourceStatus> {
    const found = await this.#json(this.path('status'), isStatus, signal);
    return {
      height: found.block_height,
      hashes: hashesOf(this.id.dbType, found),
      indexMap: found.index_map ?? null
    };
  }

  /** All databases that the source serves: chain, network, database type. */
  async statusTree(signal?: AbortSignal): Promise<Record<string, unknown>> {
    return this.#json('/status', isTree, signal);
  }

  /** How large the database is at the source; null where the source does not tell. */
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

  /** One page of an indexer's transparency log, newest block first. @param limit at most 1000 */
  async logPage(page: number, limit: number, signal?: AbortSignal): Promise<Static<typeof LogEntry>[]> {
    const path = `${this.path('transparency')}/roots?page=${page}&limit=${limit}`;
    return (await this.#json(path, isLogPage, signal)).results;
  }

  /**
   * The source's hashes of one block, from the headers of a snapshot that ends there.
   *
   * @returns null when the source does not tell
   */
  async hashesAt(height: number, signal?: AbortSignal): Promise<BlockHashes | null> {
    if (height === 0) return null;
    const response = await this.get(
      this.sincePath({ since: height - 1, until: height, skipLookups: true }),
      {},
      signal
    );
    response.body.on('error', () => undefined).destroy();
    if (response.status !== 200) return null;
    const head = readSnapshotHead(response.headers, this.id.dbType);
    return head.height === height ? head.hashes : null;
  }

  /** A decoder's dispensers, and the source's tip when it read them, where it says so. */
  async dispensers(signal?: AbortSignal): Promise<Dispensers & { readonly height: number | null }> {
    const { value, headers } = await this.#answer(this.path('snapshot-dispensers'), isDispensers, signal);
    return { ...value, height: wholeNumber(headers[SNAPSHOT_HEADERS.height]) };
  }

  /** The newest checkpoint of an indexer, as it was signed; null where the source has none. */
  async latestCheckpoint(signal?: AbortSignal): Promise<Checkpoint | null> {
    try {
      const found = await this.#json(`${this.path('checkpoint')}/latest`, isCheckpoint, signal);
      const { chain, network } = this.id;
      if (found.chain === chain && found.network === network) return found;
      throw this.#invalid(this.path('checkpoint'), 'is of another chain');
    } catch (caught) {
      if (hasCode(caught, 'SOURCE_REFUSED') && caught.detail['status'] === 404) return null;
      throw caught;
    }
  }

  /** Digests of all tables. @throws {PlatformError} SOURCE_REFUSED with `status` 404 where the source has no such route */
  async digest(signal?: AbortSignal): Promise<DatabaseDigest> {
    return this.#json(this.#digestPath({ table: null, range: null, rows: false }), isDatabaseDigest, signal);
  }

  /** Digests of the ranges of one table, or of those within a range of it. */
  async digestRanges(
    table: string,
    range: DigestRange | null,
    signal?: AbortSignal,
    settled = false
  ): Promise<TableRanges> {
    return this.#json(this.#digestPath({ table, range, rows: false, settled }), isTableRanges, signal);
  }

  /** The rows of a range. @throws {PlatformError} RANGE_TOO_LARGE when they are too many for one answer */
  async digestRows(table: string, range: DigestRange, signal?: AbortSignal): Promise<RangeRows> {
    try {
      return await this.#json(this.#digestPath({ table, range, rows: true }), isRangeRows, signal);
    } catch (caught) {
      if (!hasCode(caught, 'SOURCE_REFUSED') || caught.detail['status'] !== 413) throw caught;
      throw new PlatformError('RANGE_TOO_LARGE', { reason: caught.message, table });
    }
  }

  #digestPath(query: DigestQuery): string {
    const parameters = digestParameters(query);
    return `${this.path('digest')}${parameters.size > 0 ? `?${parameters}` : ''}`;
  }

  /** Tells the source how far a replica is. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED */
  async heartbeat(heartbeat: HeartbeatBody, signal?: AbortSignal): Promise<void> {
    const path = this.path('validator-heartbeat');
    try {
      const { statusCode, body } = await request(`${this.url}${path}`, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.authorization },
        body: JSON.stringify(heartbeat),
        signal: signal ?? null
      });
      if (statusCode !== 200) await this.refuse({ status: statusCode, headers: {}, body }, path);
      await body.dump();
    } catch (caught) {
      throw sourceError(caught, this.url, path);
    }
  }

  path(route: string): string {
    const { dbType, chain, network } = this.id;
    return `/${route}/${dbType}/${chain}/${network}`;
  }

  /** `snapshot` or `subscribe` with the tables that are wanted. */
  modePath(route: 'snapshot' | 'subscribe'): string {
    return `${this.path(route)}${this.#infraOnly ? '?sync_mode=infra-only' : ''}`;
  }

  sincePath({ since, until, skipLookups, lookups }: SinceQuery): string {
    const query = new URLSearchParams();
    if (until !== undefined) query.set('until', String(until));
    if (skipLookups) query.set('skip_lookups', '1');
    if (lookups !== undefined && lookups.length > 0) query.set('lookups', lookups.join(','));
    if (this.#infraOnly) query.set('sync_mode', 'infra-only');
    return `${this.path('snapshot')}/since/${since}${query.size > 0 ? `?${query}` : ''}`;
  }

  /** A GET whose body the caller reads or destroys. @throws {PlatformError} SOURCE_UNREACHABLE, SOURCE_REFUSED (401 and redirects) */
  async get(path: string, headers: Readonly<Record<string, string>> = {}, signal?: AbortSignal): Promise<OpenResponse> {
    try {
      const {
        statusCode,
        headers: received,
        body
      } = await request(`${this.url}${path}`, {
        dispatcher: this.#agent,
        headers: { 'accept-encoding': 'gzip', ...this.authorization, ...headers },
        signal: signal ?? null
      });
      const flat = Object.fromEntries(Object.entries(received).map(([name, value]) => [name, String(value)]));
      const response = { status: statusCode, headers: flat, body };
      if (statusCode === 401 || (statusCode >= 300 && statusCode < 400 && statusCode !== 304))
        await this.refuse(response, path);
      return response;
    } catch (caught) {
      throw sourceError(caught, this.url, path);
    }
  }

  /** Turns an unwanted answer into an error that carries the source's own words, and how long it wants to be left alone. */
  async refuse({ status, headers, body }: OpenResponse, path: string): Promise<never> {
    const text = await readBounded(body, MAX_ERROR_BYTES).catch(() => Buffer.alloc(0));
    const said = /"error"\s*:\s*("(?:[^"\\]|\\.){0,300}")/.exec(text.toString('utf8'))?.[1] ?? '';
    const reason = `${this.url} answered ${status} to ${path}${said === '' ? '' : `: ${said}`}`;
    const retryAfterS = readRetryAfter(headers['retry-after']);
    throw new PlatformError('SOURCE_REFUSED', { reason, source: this.url, status, retryAfterS });
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #json<T>(path: string, check: { Check(value: unknown): value is T }, signal?: AbortSignal): Promise<T> {
    return (await this.#answer(path, check, signal)).value;
  }

  async #answer<T>(path: string, check: { Check(value: unknown): value is T }, signal?: AbortSignal) {
    const response = await this.get(path, {}, signal);
    if (response.status !== 200) return this.refuse(response, path);
    let value: unknown;
    try {
      value = parseJson(await readBounded(plainBody(response), MAX_JSON_BYTES));
    } catch (caught) {
      if (caught instanceof SyntaxError)
        throw this.#invalid(path, `is refused as JSON: ${caught.message.slice(0, 80)}`);
      throw sourceError(caught, this.url, path);
    }
    if (!check.Check(value)) throw this.#invalid(path, 'has another shape than the contract');
    return { value, headers: response.headers };
  }

  #invalid(path: string, what: string): PlatformError {
    return new PlatformError('SOURCE_INVALID', {
      reason: `the answer of ${this.url} to ${path} ${what}`,
      source: this.url
    });
  }
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
    hashes: hashesOf(dbType, values),
    coding: codingOf(headers),
    etag: etag !== undefined && /^"[^"]{1,200}"$/.test(etag) ? etag : null,
    whole: new Set((text('wholeTables') ?? '').split(',').filter(Boolean)),
    fingerprint: text('fingerprint') ?? null,
    rows: wholeNumber(text('rows'))
  };
}

/** How a snapshot's body is compressed. @throws {PlatformError} SOURCE_INVALID */
export function codingOf(headers: Readonly<Record<string, string>>): SnapshotCoding {
  const coding = headers['content-encoding'] ?? 'none';
  if (coding === 'gzip' || coding === 'zstd') return coding;
  const reason = `a snapshot's body is gzip or zstd, the source sent content-encoding ${coding.slice(0, 40)}`;
  throw new PlatformError('SOURCE_INVALID', { reason });
}

type LooseHashes = Readonly<Record<string, unknown>>;

/** The hashes that a database of this kind has, out of an answer. */
export function hashesOf(dbType: DbType, from: LooseHashes): BlockHashes {
  const hash = (name: string) => (typeof from[name] === 'string' ? from[name] : null);
  if (dbType === 'decoder') return { block_hash: hash('block_hash') };
  return { ledger_hash: hash('ledger_hash'), actions_hash: hash('actions_hash'), contract_hash: hash('contract_hash') };
}

/** Seconds, or a date, as RFC 9110 has it; undefined when it is neither. */
export function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(MAX_RETRY_AFTER_S, Math.max(0, Math.ceil(seconds))) : undefined;
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Some servers compress what is no snapshot too. */
function plainBody({ headers, body }: OpenResponse): AsyncIterable<Uint8Array> {
  return headers['content-encoding'] === 'gzip' ? pipeline(body, createGunzip(), () => undefined) : body;
}

async function readBounded(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > limit) throw new PlatformError('SOURCE_INVALID', { reason: `an answer is longer than ${limit} bytes` });
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** What a request met on its way as a PlatformError; others pass. */
export function sourceError(caught: unknown, source: string, path: string): PlatformError {
  if (caught instanceof PlatformError) return caught;
  const { message, code } = caught as { message?: string; code?: string };
  return new PlatformError(
    'SOURCE_UNREACHABLE',
    { reason: `${source} did not answer ${path}: ${message || code}`, source },
    { cause: caught }
  );
}
