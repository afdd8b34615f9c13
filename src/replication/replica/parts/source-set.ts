import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { databaseKey } from '../../../wire/data/database.ts';
import type { Life } from '../../../wire/data/messages.ts';
import { SourceClient } from '../../client/source-client.ts';
import type { ReplicaActorData } from '../../protocol.ts';

/** A source that was followed at an actor's death is avoided for this long, while there is another source. */
const DEATH_REST_MS = 300_000;

/** A source is asked who it is again after this time: another server may stand behind its name. */
const IDENTIFIED_MS = 600_000;
const ASK_LIMIT_MS = 5_000;

/** State of one source. */
export interface SourceRecord {
  readonly client: SourceClient;
  /** `heard`: only for the hashes of its blocks; `waiting`: it asked to be left alone; `unserved`: it has no such database. */
  state: 'unknown' | 'followed' | 'heard' | 'failed' | 'waiting' | 'unserved';
  height: number | null;
  error: string | null;
  /** Times that it named another block, or had other rows or tables, than the majority. */
  dissents: number;
  /** Result of its tables' last comparison with the replica's; null: they were not compared. */
  digests: string | null;
  /** False once it refused to give any. */
  offersDigests: boolean;
  /** Sources that share one are the same; null: it was not asked yet. */
  marks: readonly string[] | null;
  identifiedAt: number;
  /** Time until which the source asked to be left alone, by a clock that nobody sets. */
  restUntil: number;
}

/** The sources of one replica; one of them is followed. */
export class SourceSet {
  readonly #data: Pick<ReplicaActorData, 'id'>;
  readonly #log: Logger;
  readonly #changed: () => void;
  readonly #records: readonly SourceRecord[];
  #followed = 0;
  /** Newest word of the followed source about what it learned; null: nothing. @see LearnedSchema */
  learned: string | null = null;
  /** Newest word of the followed source about its starts; empty: it does not say. @see LivesSchema */
  lives: readonly Life[] = [];

  /** @param changed called whenever something that is reported has changed */
  constructor(data: ReplicaActorData, log: Logger, changed: () => void) {
    this.#data = data;
    this.#log = log;
    this.#changed = changed;
    const { sourceCa: ca, infraOnly = false } = data;
    this.#records = data.sources.map(({ url, apiKey }) => ({
      client: new SourceClient(url, apiKey, data.id, { ca, infraOnly }),
      state: 'unknown',
      height: null,
      error: null,
      dissents: 0,
      digests: null,
      offersDigests: true,
      marks: null,
      identifiedAt: Number.NEGATIVE_INFINITY,
      restUntil: 0
    }));
  }

  get followed(): SourceRecord {
    return this.#records[this.#followed]!;
  }

  /** The source that is followed. */
  get client(): SourceClient {
    return this.followed.client;
  }

  get clients(): readonly SourceClient[] {
    return this.#records.map(({ client }) => client);
  }

  /** The sources that are not followed. */
  get others(): readonly SourceRecord[] {
    return this.#records.filter((record) => record !== this.followed);
  }

  get urls(): readonly string[] {
    return this.#records.map(({ client }) => client.url);
  }

  /** The facts that are reported of each source. */
  get records() {
    return this.#records.map((record) => {
      const { client, state, height, error, dissents, digests } = record;
      const same = this.#sameAs(record);
      return { url: client.url, state, height, error, dissents, digests, ...(same.length > 0 && { same_as: same }) };
    });
  }

  /** The marks of a source; of one that was not asked yet, its address. */
  readonly marksOf = (url: string): readonly string[] =>
    this.#records.find(({ client }) => client.url === url)?.marks ?? [url];

  /**
   * Asks a source who it is, unless that is known. What it says counts from then on: before, it may be another one once more.
   *
   * @throws {PlatformError} SOURCE_INVALID, SOURCE_REFUSED, SOURCE_UNREACHABLE
   */
  async identify(record: SourceRecord, signal: AbortSignal): Promise<void> {
    if (performance.now() - record.identifiedAt < IDENTIFIED_MS) return;
    const marks = await record.client.marks(AbortSignal.any([signal, AbortSignal.timeout(ASK_LIMIT_MS)]));
    const known = String(this.#sameAs(record));
    Object.assign(record, { marks, identifiedAt: performance.now() });
    const same = this.#sameAs(record);
    if (same.length === 0 || String(same) === known) return;
    const { url } = record.client;
    this.#log.warn(
      { source: url, same },
      `${url} is the same server as ${same.join(', ')}, or reads the same database: they count once`
    );
    this.#changed();
  }

  /** The highest block that one of them was seen at. */
  get tip(): number | null {
    const heights = this.#records.map(({ height }) => height).filter((height) => height !== null);
    return heights.length === 0 ? null : Math.max(...heights);
  }

  /** Milliseconds for which the followed source asked not to be contacted. */
  get restMs(): number {
    return this.#restOf(this.#followed);
  }

  /** Notes where the followed one stands. */
  standsAt(height: number | null): void {
    Object.assign(this.followed, { state: 'followed', height, error: null });
    this.#changed();
  }

  /** Follows another source first, if there is one: this one was followed when the last actor died. */
  avoid(url: string): void {
    const record = this.#records.find(({ client }) => client.url === url);
    if (!record || this.#records.length === 1) return;
    const error = 'it was followed when the last actor died';
    Object.assign(record, { state: 'failed', error, restUntil: performance.now() + DEATH_REST_MS });
    this.#log.warn({ source: url }, `switching to another source: ${error}`);
    if (this.followed === record) this.#followNext();
  }

  /**
   * Follows the next source that does not ask to be left alone, after a fault of the followed one.
   *
   * @returns the fault as it is reported
   */
  leave(fault: PlatformError): PlatformError {
    const { retryAfterS = 0, status } = fault.detail as { retryAfterS?: number; status?: number };
    const state = retryAfterS > 0 ? 'waiting' : status === 404 ? 'unserved' : 'failed';
    const restUntil = performance.now() + 1000 * retryAfterS;
    Object.assign(this.followed, { state, error: fault.message, restUntil });
    this.#followNext();
    if (this.restMs > 0)
      this.#log.warn({ waitS: Math.ceil(this.restMs / 1000) }, `${this.client.url} asks the client to wait`);
    if (!this.#records.every((record) => record.state === 'unserved')) return fault;
    const urls = this.clients.map(({ url }) => url).join(', ');
    const reason = `no source serves ${databaseKey(this.#data.id)}: ${urls} answered 404`;
    return new PlatformError('DATABASE_UNSERVED', { reason }, { cause: fault });
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
  }

  #sameAs({ client, marks }: SourceRecord): readonly string[] {
    const others = this.#records.filter((other) => other.client !== client);
    return others
      .filter((other) => other.marks?.some((mark) => marks?.includes(mark)))
      .map((other) => other.client.url);
  }

  #followNext(): void {
    this.lives = [];
    const count = this.#records.length;
    const others = this.#records.map((_, index) => (this.#followed + 1 + index) % count);
    this.#followed = others.reduce((best, index) => (this.#restOf(index) < this.#restOf(best) ? index : best));
  }

  #restOf(index: number): number {
    return Math.max(0, this.#records[index]!.restUntil - performance.now());
  }
}
