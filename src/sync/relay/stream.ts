import type { ObjectStore } from '@nats-io/obj';
import type { DatabaseId } from '../../wire/data/database.ts';
import { MAX_MESSAGE_BYTES } from '../../wire/data/messages.ts';
import type { Nats } from './link.ts';
import type { RecordHead, RelayRecord } from './record.ts';

/** A longer body goes to the object store; NATS takes 1 MiB at most unless it is told otherwise. */
const MAX_INLINE_BYTES = 512 * 2 ** 10;
const PUBLISH_TIMEOUT_MS = 5_000;
const NANOS = 1_000_000;
/** Messages behind a block that are looked at. */
const MAX_TAIL = 64;
/** Messages of nobody at the end of a stream, behind which its last publisher is looked for. */
const MOST_OF_NOBODY = 1_000;
/** Window in which the server drops a message that it has, in milliseconds. */
const DUPLICATES_MS = 120_000;

export interface StreamLimits {
  /** Copies of each message in the cluster. */
  readonly replicas: number;
  readonly keepMs: number;
  readonly maxBytes: number;
}

/** The end of a stream. */
interface LastMessage {
  readonly sequence: number;
  /** Publisher of the last message that has one, and its position; empty and 0 where none has. */
  readonly publisher: string;
  readonly position: number;
  readonly type: RecordHead['type'];
  readonly sha256: string;
}

/** A message at the end of a stream. */
interface TailMessage {
  readonly type: string;
  readonly height: number;
  readonly sha256: string;
  /** Sequence of the last message of the stream. */
  readonly lastSequence: number;
}

/** Returns `PLATFORM_INDEXER_BITCOIN_MAINNET`, the stream of one database. */
export function streamName({ dbType, chain, network }: DatabaseId): string {
  return `PLATFORM_${dbType}_${chain}_${network}`.toUpperCase();
}

/** Returns `platform.v1.indexer.bitcoin.mainnet`, the one subject of its stream. */
export function subjectOf({ dbType, chain, network }: DatabaseId): string {
  return `platform.v1.${dbType}.${chain}.${network}`;
}

/** One database's stream, at one connection. */
export class DatabaseStream {
  readonly #nats: Nats;
  readonly #name: string;
  readonly #subject: string;
  readonly #bucket: string;
  readonly #bodies: ObjectStore;

  private constructor(nats: Nats, id: DatabaseId, bodies: ObjectStore) {
    this.#nats = nats;
    this.#name = streamName(id);
    this.#subject = subjectOf(id);
    this.#bucket = bucketOf(id);
    this.#bodies = bodies;
  }

  /** Creates the stream and its bucket where they are missing. @throws {Error} when the name is another database's */
  static async open(nats: Nats, id: DatabaseId, { replicas, keepMs, maxBytes }: StreamLimits): Promise<DatabaseStream> {
    const name = streamName(id);
    const subject = subjectOf(id);
    const known = await nats.streams.streams.info(name).catch(() => null); // absent, or the next call tells why not
    if (known && known.config.subjects.join() !== subject)
      throw new Error(`the stream ${name} carries ${known.config.subjects.join()}, and not ${subject}`);
    if (!known)
      await nats.streams.streams.add({
        name,
        subjects: [subject],
        storage: 'file',
        retention: 'limits',
        discard: 'old',
        num_replicas: replicas,
        max_age: keepMs * NANOS,
        max_bytes: maxBytes,
        duplicate_window: Math.min(DUPLICATES_MS, keepMs) * NANOS
      });
    const bodies = await nats.objects.create(bucketOf(id), { storage: 'file', replicas, ttl: keepMs * NANOS });
    return new DatabaseStream(nats, id, bodies);
  }

  /**
   * Reads the last message; null when the stream holds none. Whoever may read can have NATS copy messages of other
   * streams there: they name no publisher.
   */
  async last(): Promise<LastMessage | null> {
    const { streams } = this.#nats.streams;
    const last = await streams.getMessage(this.#name, { last_by_subj: this.#subject });
    if (!last) return null;
    let found: typeof last | null = last;
    for (let left = MOST_OF_NOBODY; left > 0 && found && !found.header.has('Platform-Publisher'); left--)
      found = found.seq > 1 ? await streams.getMessage(this.#name, { seq: found.seq - 1 }) : null;
    const headerOf = (name: string) => found?.header.get(`Platform-${name}`) ?? '';
    return {
      sequence: last.seq,
      publisher: headerOf('Publisher'),
      position: Number(headerOf('Position')),
      type: headerOf('Type') as RecordHead['type'],
      sha256: headerOf('Sha256')
    };
  }

  /**
   * Reads the last block and the messages behind it, oldest first, without points and those of nobody.
   *
   * @returns null when the stream does not end like that: it holds none, another branch begins, or many follow
   */
  async tail(): Promise<readonly TailMessage[] | null> {
    const last = await this.#nats.streams.streams.getMessage(this.#name, { last_by_subj: this.#subject });
    const found: TailMessage[] = [];
    for (let message = last; message && found.length < MAX_TAIL; ) {
      const type = message.header.get('Platform-Type');
      if (type === 'reorg' || type === 'break') return null;
      const [height, sha256] = [Number(message.header.get('Platform-Height')), message.header.get('Platform-Sha256')];
      if (type !== 'point' && type !== '') found.unshift({ type, height, sha256, lastSequence: last!.seq });
      if (type === 'block') return found;
      if (message.seq === 1) return null;
      message = await this.#nats.streams.streams.getMessage(this.#name, { seq: message.seq - 1 });
    }
    return null;
  }

  /** Stores a body that is too long for a message; another one stays in its message. */
  async storeBody({ head, body }: RelayRecord): Promise<void> {
    if (body.length > MAX_MESSAGE_BYTES) throw new Error(`a body of ${body.length} bytes is longer than clients take`);
    if (body.length > MAX_INLINE_BYTES) await this.#bodies.putBlob({ name: head.sha256 }, body);
  }

  /**
   * Publishes a message, whose body is stored if it is long, behind the one of this sequence.
   *
   * @param isTaking it has no position of its own, and takes the stream over at this one
   * @returns its sequence, when the stream has it
   * @throws {Error} when another message was published since, or it is not known whether the stream has it
   */
  async publish(
    { head, body }: RelayRecord,
    publisher: string,
    position: number,
    behind: number,
    isTaking = false
  ): Promise<number> {
    const { headers } = await import('@nats-io/transport-node');
    const sent = headers();
    const facts: Record<string, string | number | null> = {
      Type: head.type,
      Height: head.height,
      Hash: head.hash,
      Previous: head.previous,
      Reorgs: head.reorgs,
      Schema: head.schema,
      Size: head.size,
      Sha256: head.sha256,
      Publisher: publisher,
      Position: position
    };
    const isLarge = body.length > MAX_INLINE_BYTES;
    if (isLarge) Object.assign(facts, { Bucket: this.#bucket, Key: head.sha256 });
    for (const [name, value] of Object.entries(facts)) if (value !== null) sent.set(`Platform-${name}`, String(value));
    const { seq } = await this.#nats.messages.publish(this.#subject, isLarge ? new Uint8Array(0) : body, {
      msgID: `${head.type}:${head.height}:${head.hash ?? ''}:${head.reorgs}:${publisher}.${position}${isTaking ? `.${behind}` : ''}`,
      headers: sent,
      expect: { streamName: this.#name, lastSubjectSequence: behind },
      timeout: PUBLISH_TIMEOUT_MS
    });
    return seq;
  }
}

function bucketOf(id: DatabaseId): string {
  return `${streamName(id)}_BODIES`;
}
