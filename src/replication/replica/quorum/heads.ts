import { rows } from '../../../db/connection.ts';
import { type BlockHashes, sameBlock } from '../../../wire/data/database.ts';
import type { WireRow } from '../../../wire/data/messages.ts';
import { readLoggedHashes } from '../../client/logged-hashes.ts';
import { ACCEPT_SNAPSHOT, codingOf } from '../../client/snapshot-head.ts';
import type { SourceClient, SourceStatus } from '../../client/source-client.ts';
import { steadily } from '../../client/steady.ts';
import { readSnapshot } from '../../snapshot/snapshot-reader.ts';
import type { Replica } from '../parts/replica.ts';

type Parts = Pick<Replica, 'data' | 'store' | 'sources'>;

const BATCH_BYTES = 2 ** 20;
/** Rows of blocks that are kept of one answer; nobody goes back further. */
const MAX_BLOCKS = 100_000;
/** The columns that identify a decoder's block: its hash, or the id of its hash. */
const HASH_COLUMNS = ['block_hash', 'block_hash_id'] as const;

/**
 * Finds the replica's blocks that stand in the source's chain.
 *
 * A source is asked for single heights; one that cannot answer that is read: an indexer's transparency log, a decoder's `blocks`
 * rows.
 */
export class SourceHeads {
  readonly #replica: Parts;
  readonly #ownHashes: (height: number) => Promise<BlockHashes | null>;
  readonly #status: SourceStatus;
  readonly #signal: AbortSignal;
  #answers = true;
  #logged: ReadonlyMap<number, BlockHashes> = new Map();
  /** Rows of the source's blocks from `#readFrom` on. */
  #rows: ReadonlyMap<number, WireRow> = new Map();
  #readFrom = Number.POSITIVE_INFINITY;

  constructor(
    replica: Parts,
    ownHashes: (height: number) => Promise<BlockHashes | null>,
    status: SourceStatus,
    signal: AbortSignal
  ) {
    this.#replica = replica;
    this.#ownHashes = ownHashes;
    this.#status = status;
    this.#signal = signal;
  }

  /** @returns null when the source does not tell, or the replica has no such block */
  async isShared(height: number): Promise<boolean | null> {
    const own = await this.#ownHashes(height);
    if (own === null) return null;
    if (height === this.#status.height) return sameBlock(own, this.#status.hashes);
    const { client: source } = this.#replica.sources;
    const { data } = this.#replica;
    const sourceHashes = this.#answers ? await source.hashesAt(height, this.#signal) : null;
    if (sourceHashes !== null) return sameBlock(own, sourceHashes);
    this.#answers = false;
    const read = height < this.#readFrom;
    this.#readFrom = Math.min(height, this.#readFrom);
    if (data.id.dbType === 'decoder') {
      if (read) this.#rows = await readBlockRows(source, height, data.maxRowBytes, this.#signal);
      return this.#isSameRow(height);
    }
    if (read) this.#logged = await readLoggedHashes(source, height, this.#signal);
    const logged = this.#logged.get(height);
    return logged === undefined ? null : sameBlock(own, logged);
  }

  async #isSameRow(height: number): Promise<boolean | null> {
    const sourceRow = this.#rows.get(height);
    const [own] = await rows(this.#replica.store.writer, 'SELECT * FROM blocks WHERE block_index = ?', [height]);
    return sourceRow === undefined || !own ? null : tell(own) === tell(sourceRow);
  }
}

/** Reads the rows of table `blocks` that a source has from a height on, by height. */
export async function readBlockRows(
  source: SourceClient,
  from: number,
  maxRowBytes: number,
  signal: AbortSignal
): Promise<ReadonlyMap<number, WireRow>> {
  const found = new Map<number, WireRow>();
  const path = source.sincePath({ since: Math.max(0, from - 1), skipLookups: true });
  const response = await source.get(path, ACCEPT_SNAPSHOT, signal);
  try {
    if (response.status !== 200) return found;
    const coding = codingOf(response.headers);
    for await (const batch of readSnapshot(steadily(response.body, source.url), coding, {
      maxRowBytes,
      batchBytes: BATCH_BYTES
    })) {
      const { table, rows: list, last } = batch;
      if (table !== 'blocks') continue;
      for (const row of list) found.set(Number(row['block_index']), row);
      if (last || found.size >= MAX_BLOCKS) break;
    }
    return found;
  } finally {
    response.body.on('error', () => undefined).destroy();
  }
}

function tell(row: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(HASH_COLUMNS.map((name) => (row[name] == null ? null : String(row[name]))));
}
