import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../log.ts';
import type { Nats, NatsLink } from '../sync/relay/link.ts';
import { VALUES_BUCKET } from '../sync/relay/values.ts';
import { type BlockHashes, type DatabaseId, databaseKey, hashesOf } from '../wire/data/database.ts';
import { shapeOf } from '../wire/data/shape.ts';
import { StoredSnapshotsSchema } from '../wire/data/stored-snapshot.ts';
import type { Catalog } from '../wire/log/catalog.ts';
import { SourceStatusSchema } from '../wire/state/status.ts';
import type { EdgeSnapshots } from './snapshots.ts';

const areStored = shapeOf(StoredSnapshotsSchema);
const INTERVAL_MS = 2_000;
/** The origin writes every five seconds; after so long without a word it counts as silent. */
const SILENT_MS = 30_000;

type Bucket = Awaited<ReturnType<Nats['values']['open']>>;

const isStatus = shapeOf(SourceStatusSchema);

/** The origin's answers about one database. */
interface OriginValues {
  readonly height: number | null;
  readonly hashes: BlockHashes;
  readonly settledHeight: number | null;
  readonly amendments: number | null;
  /** Seconds for which its MariaDB had answered nothing. */
  readonly databaseSilentS: number;
  readonly catalog: Catalog['databases'][number] | null;
}

/** The newest word of the origin about one database, and when it was read first, by `performance.now()`. */
interface Word {
  readonly revision: number;
  readonly at: number;
}

interface ValuesOptions {
  readonly link: NatsLink;
  readonly ids: () => readonly DatabaseId[];
  /** Absent: no snapshots are listed. */
  readonly snapshots?: Pick<EdgeSnapshots, 'epoch' | 'list'>;
  readonly log: Logger;
  /** Milliseconds without a word after which the origin counts as silent; default: SILENT_MS. */
  readonly silentMs?: number;
  /** Seconds for which the stream of a database was not passed on; absent: it always is. */
  readonly stoppedS?: (id: DatabaseId) => number;
  /** Called when the origin, its MariaDB or the stream falls silent about a database, or is heard again. */
  readonly onSilence?: (id: DatabaseId) => void;
}

/** Reads the origin's answers about each database from NATS, every two seconds. */
export class ValuesReader {
  readonly #options: ValuesOptions;
  readonly #stopping = new AbortController();
  readonly #known = new Map<string, OriginValues>();
  readonly #words = new Map<string, Word>();
  readonly #silent = new Set<string>();
  readonly #running: Promise<void>;

  constructor(options: ValuesOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Returns the last answers; undefined before the first. */
  of(id: DatabaseId): OriginValues | undefined {
    return this.#known.get(databaseKey(id));
  }

  /** Returns the seconds for which the origin has written nothing about a database into NATS, where that is long; else 0. */
  silentS(id: DatabaseId): number {
    const { at = Number.POSITIVE_INFINITY } = this.#words.get(databaseKey(id)) ?? {};
    const elapsedMs = performance.now() - at;
    return elapsedMs < (this.#options.silentMs ?? SILENT_MS) ? 0 : Math.ceil(elapsedMs / 1_000);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { link, ids, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        for (const id of ids()) this.#wait(id);
        const bucket = await link.current?.values.open(VALUES_BUCKET);
        for (const id of bucket ? ids() : []) await this.#read(bucket!, id);
      } catch (caught) {
        log.debug({ err: caught }, 'the values of the origin could not be read');
      }
      for (const id of ids()) this.#tellSilence(id); // also while NATS is away: then nobody is heard
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
    }
  }

  async #read(bucket: Bucket, id: DatabaseId): Promise<void> {
    const { dbType, chain, network } = id;
    const key = databaseKey(id);
    const { snapshots } = this.#options;
    const epoch = snapshots?.epoch(id) ?? 0;
    const listed = jsonOf(await bucket.get(`${dbType}.${chain}.${network}.snapshots`));
    snapshots?.list(id, areStored.Check(listed) ? listed : [], epoch);
    const entry = await bucket.get(`${dbType}.${chain}.${network}.status`);
    if (!entry) return;
    if (this.#words.get(key)?.revision !== entry.revision)
      this.#words.set(key, { revision: entry.revision, at: performance.now() });
    const status = jsonOf(entry);
    if (!isStatus.Check(status)) return;
    const catalog = jsonOf(await bucket.get(`${dbType}.${chain}.${network}.catalog`)) as OriginValues['catalog'];
    this.#known.set(key, {
      height: status.block_height,
      hashes: hashesOf(dbType, status),
      settledHeight: status.settled_height ?? null,
      amendments: status.amendments ?? null,
      databaseSilentS: status.database_silent_s ?? 0,
      catalog
    });
  }

  /** Counts the time without a word from now on, where there was none yet. */
  #wait(id: DatabaseId): void {
    const key = databaseKey(id);
    if (!this.#words.has(key)) this.#words.set(key, { revision: 0, at: performance.now() });
  }

  #tellSilence(id: DatabaseId): void {
    const key = databaseKey(id);
    const stoppedS = this.#options.stoppedS?.(id) ?? 0;
    const isSilent = stoppedS > 0 || this.silentS(id) > 0 || (this.of(id)?.databaseSilentS ?? 0) > 0;
    if (isSilent === this.#silent.has(key)) return;
    if (isSilent) this.#silent.add(key);
    else this.#silent.delete(key);
    this.#options.onSilence?.(id);
  }
}

/** Returns null for no value, and for one that is no JSON. */
function jsonOf(entry: Awaited<ReturnType<Bucket['get']>>): unknown {
  try {
    return entry?.json() ?? null;
  } catch {
    return null;
  }
}
