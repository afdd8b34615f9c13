import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import type { Logger } from '../../log.ts';
import { type DatabaseId, databaseKey } from '../../wire/data/database.ts';
import type { SnapshotCoding } from '../../wire/data/snapshot.ts';
import type { StoredSnapshot } from '../../wire/data/stored-snapshot.ts';
import type { Nats, NatsLink } from './link.ts';
import { streamName } from './stream.ts';
import { VALUES_BUCKET } from './values.ts';

const CODINGS: readonly SnapshotCoding[] = ['gzip', 'zstd'];
/** Snapshots of each coding that are kept. */
const KEPT = 3;
const LOOK_MS = 1_000;
/** Least time between two builds of one database, and before another attempt. */
const PAUSE_MS = 600_000;
const RETRY_MS = 60_000;

/** A full snapshot that was built. */
export interface SnapshotBody {
  readonly etag: string;
  /** Response headers that its build decided. */
  readonly headers: Readonly<Record<string, string>>;
  readonly height: number;
  /** Its bytes; a part's memory is used again when the next one is asked for. */
  read(): AsyncIterable<Uint8Array>;
  /** Lets it go. */
  leave(): void;
}

export interface SnapshotsOptions {
  readonly link: NatsLink;
  readonly replicas: number;
  /** Blocks between two snapshots; 0: none are stored. */
  readonly everyBlocks: number;
  /** The databases whose streams this process writes, and their last broadcast blocks. */
  readonly databases: () => readonly { readonly id: DatabaseId; readonly height: number }[];
  /** Builds a snapshot, or takes one that is there. */
  readonly take: (id: DatabaseId, coding: SnapshotCoding) => Promise<SnapshotBody>;
  readonly log: Logger;
}

/** One database's snapshots, as this process knows them. */
interface Known {
  /** Grows when snapshots become invalid: what was begun before is not stored. */
  epoch: number;
  /** `performance.now()` before which none is begun. */
  notBefore: number;
  isBusy: boolean;
}

/**
 * Keeps full snapshots of the databases in the object store, for edges: one of each coding every so many blocks, the last three.
 *
 * Snapshots that a reorg makes invalid leave the list before the reorg is published: readers of the list behind it find none of them.
 */
export class RelaySnapshots {
  readonly #options: SnapshotsOptions;
  readonly #stopping = new AbortController();
  readonly #known = new Map<string, Known>();
  readonly #working = new Set<Promise<void>>();
  readonly #running: Promise<void>;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** Removes the snapshots of blocks from this height on. @throws {Error} when NATS does not say that they are gone */
  async invalidate(nats: Nats, id: DatabaseId, fork: number): Promise<void> {
    this.#of(id).epoch += 1;
    await this.#change(nats, id, (all) => all.filter(({ height }) => height < fork));
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#working);
  }

  #of(id: DatabaseId): Known {
    const known = this.#known.get(databaseKey(id)) ?? { epoch: 0, notBefore: 0, isBusy: false };
    this.#known.set(databaseKey(id), known);
    return known;
  }

  async #run(): Promise<void> {
    const { databases, everyBlocks, link, log } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      for (const { id, height } of link.current && everyBlocks > 0 ? databases() : []) {
        const known = this.#of(id);
        if (known.isBusy || performance.now() < known.notBefore) continue;
        known.isBusy = true;
        const work = this.#keep(link.current!, id, height, known)
          .catch((caught) => {
            known.notBefore = performance.now() + RETRY_MS;
            log.warn(
              { err: caught, database: databaseKey(id) },
              'a snapshot could not be stored in NATS; it is tried again'
            );
          })
          .finally(() => {
            known.isBusy = false;
            this.#working.delete(work);
          });
        this.#working.add(work);
      }
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined); // the loop ends by the signal
    }
  }

  /** Stores a snapshot of each coding, if the newest ones are old. */
  async #keep(nats: Nats, id: DatabaseId, height: number, known: Known): Promise<void> {
    const { everyBlocks, take, log } = this.#options;
    const listed = await readList(await this.#bucket(nats), id);
    for (const coding of CODINGS) {
      const newest = listed.find((each) => each.coding === coding);
      if (newest && height - newest.height < everyBlocks) continue;
      const { epoch } = known;
      const body = await take(id, coding);
      try {
        const stored = await this.#store(nats, id, coding, body);
        const isStored = await this.#change(nats, id, (all) => (known.epoch === epoch ? withNew(all, stored) : all));
        if (isStored)
          log.info({ database: databaseKey(id), height: stored.height, coding }, 'stored a snapshot in NATS');
        else await (await nats.objects.open(stored.bucket)).delete(stored.object); // a reorg came meanwhile
      } finally {
        body.leave();
      }
      known.notBefore = performance.now() + PAUSE_MS;
    }
  }

  async #store(nats: Nats, id: DatabaseId, coding: SnapshotCoding, body: SnapshotBody): Promise<StoredSnapshot> {
    const bucket = `${streamName(id)}_SNAPSHOTS`;
    const objects = await nats.objects.create(bucket, { storage: 'file', replicas: this.#options.replicas });
    const { etag, headers, height } = body;
    const object = `${height}.${etag.replaceAll('"', '')}`;
    const digest = createHash('sha256');
    const { signal } = this.#stopping;
    let sizeBytes = 0;
    async function* copied() {
      for await (const part of body.read()) {
        signal.throwIfAborted();
        const bytes = Buffer.from(part);
        digest.update(bytes);
        sizeBytes += bytes.length;
        yield bytes;
      }
    }
    await objects.put({ name: object }, ReadableStream.from(copied()) as ReadableStream<Uint8Array>);
    return { etag, headers, height, coding, bucket, object, sizeBytes, sha256: digest.digest('hex') };
  }

  /** Changes the list, then removes what is not in it any more. @returns whether it was changed */
  async #change(
    nats: Nats,
    id: DatabaseId,
    edit: (all: readonly StoredSnapshot[]) => readonly StoredSnapshot[]
  ): Promise<boolean> {
    const values = await this.#bucket(nats);
    const found = await values.get(keyOf(id));
    const before = listOf(found);
    const after = edit(before);
    if (after.length === before.length && after.every((each, index) => each === before[index])) return false;
    const text = JSON.stringify(after);
    await (found ? values.update(keyOf(id), text, found.revision) : values.create(keyOf(id), text));
    for (const { bucket, object } of before.filter((each) => !after.includes(each)))
      await (await nats.objects.open(bucket)).delete(object);
    return true;
  }

  #bucket(nats: Nats): Promise<KV> {
    return nats.values.create(VALUES_BUCKET, { history: 1, replicas: this.#options.replicas });
  }
}

function withNew(all: readonly StoredSnapshot[], stored: StoredSnapshot): StoredSnapshot[] {
  const [same, others] = [true, false].map((is) => all.filter(({ coding }) => (coding === stored.coding) === is));
  return [stored, ...same!.slice(0, KEPT - 1), ...others!];
}

function keyOf({ dbType, chain, network }: DatabaseId): string {
  return `${dbType}.${chain}.${network}.snapshots`;
}

async function readList(values: KV, id: DatabaseId): Promise<readonly StoredSnapshot[]> {
  return listOf(await values.get(keyOf(id)));
}

function listOf(entry: Awaited<ReturnType<KV['get']>>): readonly StoredSnapshot[] {
  return entry?.operation === 'PUT' ? entry.json() : [];
}
