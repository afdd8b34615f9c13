import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../errors.ts';
import { type BlockHashes, blockText, hashesOf } from '../../../wire/data/database.ts';
import type { Announcement } from '../../../wire/data/messages.ts';
import { askHashes } from '../../client/ask-hashes.ts';
import type { SourceClient } from '../../client/source-client.ts';
import { Subscription } from '../../client/subscription.ts';
import { readBlockRows } from './heads.ts';

const WAIT_MS = 30_000;
const ASK_LIMIT_MS = 5_000;
/** Heights whose hashes are kept; the oldest reports go first. */
const MAX_HEARD = 10_000;
/** Pause between two downloads of rows from a source that tells hashes in no leaner way. */
const ROWS_PAUSE_MS = 60_000;

/** A source's report of a block. */
export interface HashReport {
  readonly height: number;
  readonly hash: string;
}

interface SourceListenerOptions {
  readonly client: SourceClient;
  /** Asks the source who it is, unless that is known: two names of one source are heard as one. */
  readonly identify: (signal: AbortSignal) => Promise<void>;
  readonly reconnectDelayMs: number;
  readonly maxRowBytes: number;
  /** A block was named; null: the connection is up, or gone with this fault. */
  readonly onReport: (report: HashReport | null, fault?: Error) => void;
}

/** A source that is not followed, heard for the hashes of its blocks alone. */
export class SourceListener {
  readonly #options: SourceListenerOptions;
  readonly #heard = new Map<number, string>();
  readonly #stopping = new AbortController();
  #infraOnly: boolean;
  #rowsReadAt = Number.NEGATIVE_INFINITY;
  /** Whether its `blocks` rows name their hashes; null before it was asked for them. */
  #rowsTell: boolean | null = null;
  /** Blocks that it has passed and did not name when it was asked, since it was connected. */
  readonly #unnamed = new Set<number>();
  /** Height of the source; null before its first status, and while it is not connected. */
  height: number | null = null;

  constructor(options: SourceListenerOptions) {
    this.#options = options;
    this.#infraOnly = options.client.id.dbType === 'indexer';
    void this.#listen();
  }

  /** Returns the last report of a block, as one text; null when none is known. */
  heard(height: number): string | null {
    return this.#heard.get(height) ?? null;
  }

  /** Returns whether the source has passed a block, and answered without naming it. Neither failures nor silence count. */
  cannotName(height: number): boolean {
    return this.height !== null && this.height >= height && this.#unnamed.has(height) && !this.#heard.has(height);
  }

  /** Asks by REST, unless the source could not answer this height before. @returns null when the source has no such block, or no answer */
  async ask(height: number, signal: AbortSignal): Promise<string | null> {
    if (this.#unnamed.has(height)) return this.heard(height);
    const { client, identify, maxRowBytes } = this.#options;
    const limit = AbortSignal.any([signal, this.#stopping.signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
    try {
      await identify(limit);
      const { hashes: answered, cannotName } = await askHashes(client, height, limit);
      for (const [at, hashes] of answered) this.#keep(at, hashes);
      if (cannotName && this.#rowsTell === false) this.#keepUnnamed(height);
      if (!this.#heard.has(height) && performance.now() - this.#rowsReadAt > ROWS_PAUSE_MS) {
        this.#rowsReadAt = performance.now();
        this.#rowsTell = false;
        const found = await readBlockRows(client, height, maxRowBytes, limit);
        for (const [at, row] of found) {
          const hashes = hashesOf(client.id.dbType, row);
          if (blockText(hashes) === null) continue; // an earlier report stands
          this.#keep(at, hashes);
          this.#rowsTell = true;
        }
        if (cannotName && this.#rowsTell === false) this.#keepUnnamed(height);
      }
    } catch (caught) {
      signal.throwIfAborted();
      this.#options.onReport(null, caught as Error);
    }
    return this.heard(height);
  }

  close(): void {
    this.#stopping.abort();
  }

  async #listen(): Promise<void> {
    const { client, identify, reconnectDelayMs, onReport } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let subscription: Subscription<Announcement> | undefined;
      try {
        await identify(signal);
        const path = client.path('subscribe');
        subscription = await Subscription.listen(client, this.#infraOnly ? `${path}?sync_mode=infra-only` : path);
        onReport(null);
        for (;;) {
          const message = await subscription.next(WAIT_MS, signal);
          if (signal.aborted) break;
          if (message) this.#hear(message);
        }
      } catch (caught) {
        if (hasCode(caught, 'SOURCE_REFUSED') && caught.detail['status'] === 400) this.#infraOnly = false;
        if (!signal.aborted) onReport(null, caught as Error);
      } finally {
        subscription?.close();
      }
      // Its reports may change while the stream is down.
      this.#heard.clear();
      this.#unnamed.clear();
      this.height = null;
      const delayMs = reconnectDelayMs * (0.75 + Math.random() / 2);
      await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #hear(message: Announcement): void {
    const { dbType } = this.#options.client.id;
    if (message.type === 'reorg') {
      for (const height of this.#heard.keys()) if (height >= message.block_index) this.#heard.delete(height);
      for (const height of this.#unnamed) if (height >= message.block_index) this.#unnamed.delete(height);
      this.height = message.block_index - 1;
      return;
    }
    this.height = message.type === 'status' ? message.block_height : message.block_index;
    if (this.height === null) return;
    const hash = this.#keep(this.height, hashesOf(dbType, message));
    if (hash !== null) this.#options.onReport({ height: this.height, hash });
  }

  #keepUnnamed(height: number): void {
    this.#unnamed.add(height);
    if (this.#unnamed.size > MAX_HEARD) this.#unnamed.delete(this.#unnamed.keys().next().value!);
  }

  #keep(height: number, hashes: BlockHashes): string | null {
    const hash = blockText(hashes);
    this.#heard.delete(height);
    if (hash === null) return null;
    this.#heard.set(height, hash);
    if (this.#heard.size > MAX_HEARD) this.#heard.delete(this.#heard.keys().next().value!);
    return hash;
  }
}
