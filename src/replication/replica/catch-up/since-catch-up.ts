import { withinHeap } from '../../../../actors/runtime/thread/heap-share.ts';
import { quoteName, rows } from '../../../db/connection.ts';
import { hasCode, PlatformError } from '../../../errors.ts';
import { unknownHashes } from '../../../wire/data/database.ts';
import { ACCEPT_SNAPSHOT, readSnapshotHead } from '../../client/snapshot-head.ts';
import type { SinceQuery, SourceStatus } from '../../client/source-client.ts';
import type { OpenResponse } from '../../client/source-connection.ts';
import { steadily } from '../../client/steady.ts';
import { readSnapshot } from '../../snapshot/snapshot-reader.ts';
import { lookupDigest } from '../../tables/lookup-digest.ts';
import { applySince } from '../apply/block-writer.ts';
import { type ReplicaState, writeReplicaState } from '../database/state.ts';
import { heedLearned } from '../parts/learned.ts';
import { isOfOther, isOfStream, senderOf } from '../parts/lives.ts';
import type { Replica } from '../parts/replica.ts';
import { ReplicaLost } from '../parts/replica-lost.ts';
import { followSourceSchema } from '../parts/source-schema.ts';
import type { SourceQuorum, Verdict } from '../quorum/source-quorum.ts';
import { filledLookups, withTables } from './whole-lookups.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

/** A catch-up over more blocks than this runs in ranges, during which the replica is not complete. */
const RANGE_BLOCKS = 5_000;
const BATCH_BYTES = 2 ** 20;
/** Bytes of an expanded since-snapshot; the thread's memory limit refuses one long before. */
const MAX_SINCE_BYTES = 8 * 2 ** 30;
/** The source looks for changes in this many blocks; memory bounds it too. */
const OVERLAP_BLOCKS = 1_000;
const OVERLAP_ROWS = 200_000;
const CAUGHT_UP = /No data available after block/;

/** Reason for which a since-snapshot is applied. */
interface SinceKind {
  /** Whether it takes whole tables, as after a rollback or an adoption. */
  readonly isWhole: boolean;
  /** The tip that a rollback left, else -1: while the chain ends below it, no group has sent again what the orphaned ones had sent. */
  readonly leftHeight: number;
}

/** Applies what a source has above the replica's block, as one since-snapshot. */
export class SinceCatchUp {
  readonly #replica: Parts;
  readonly #sourceQuorum: SourceQuorum;

  constructor(replica: Parts, sourceQuorum: SourceQuorum) {
    this.#replica = replica;
    this.#sourceQuorum = sourceQuorum;
  }

  /** @returns the sources' verdict on the last block of the snapshot; it is applied only when they agree */
  async apply(
    state: ReplicaState,
    status: SourceStatus,
    { isWhole: whole, leftHeight }: SinceKind,
    signal: AbortSignal
  ): Promise<Verdict> {
    const since = state.height!;
    const tip = status.height!;
    const { client: source } = this.#replica.sources;
    const { log } = this.#replica;
    // Asked before there is a body that would have to wait.
    const expected = await this.#sourceQuorum.confirm(tip, status.hashes, signal);
    if (expected !== 'agreed') return expected;
    const isTruncated = state.floor !== null;
    // Balances that the last range does not touch come with no other, and a truncated replica cannot derive them.
    const far = tip - since > RANGE_BLOCKS && !isTruncated;
    if (far && state.complete)
      await writeReplicaState(this.#replica.store.writer, { complete: false, phase: 'catchingUp' });
    const reconciles = whole || this.#replica.store.contradicted;
    const lookups = reconciles ? [] : await this.#statedLookups();
    let wereWhole = lookups.length === 0;
    const isPlain = state.schemaFingerprint === null || this.#replica.store.context.schema.only !== null;
    const lowest = isPlain ? since + 1 : await this.#overlapStart(since);
    // This source does not know what another one broadcast.
    const isOther = state.source === null || isOfOther(this.#replica);
    const query: SinceQuery = {
      ...(isPlain || far || isOther
        ? { since: lowest - 1 }
        : { since, older: lowest, parts: this.#mayTakeParts(state) }),
      lookups,
      ...(far ? { until: since + RANGE_BLOCKS } : {})
    };
    const path = source.sincePath(query);
    const response = await source.get(path, ACCEPT_SNAPSHOT, signal);
    response.body.on('error', () => undefined); // it may break before it is read
    if (response.status !== 200) {
      await this.#notApplied(response, path);
      return 'agreed';
    }
    try {
      const head = readSnapshotHead(response.headers, source.id.dbType);
      if (head.height <= since) return 'agreed';
      await heedLearned(this.#replica, head.learned);
      // What changed in older blocks since the replica's another source knows, or nobody any more; a comparison finds it.
      const isForgotten = query.older !== undefined && head.isSettled === null && status.settledHeight !== undefined;
      const { offersDigests } = this.#replica.sources.followed;
      // The status may be of a moment before the reorg, the snapshot is not.
      const isShorter = head.height < leftHeight;
      const isUnknown =
        isOther || !isOfStream(this.#replica, head.life) || (offersDigests && (isForgotten || isShorter));
      const misses = this.#replica.store.state.misses || (isUnknown && head.fingerprint !== null);
      const hashes = head.hashes ?? (head.height === tip ? status.hashes : unknownHashes(source.id.dbType));
      const verdict = far ? 'agreed' : await this.#sourceQuorum.confirm(head.height, hashes, signal);
      if (verdict !== 'agreed') return verdict;
      const firstBlock = query.older === undefined ? lowest : (head.firstBlock ?? since + 1);
      if (firstBlock < lowest || firstBlock > since + 1) throw misplaced(source.url, firstBlock);
      const plain = head.fingerprint === null;
      wereWhole = plain ? reconciles : wereWhole;
      if (plain || head.fingerprint !== state.schemaFingerprint) {
        await followSourceSchema(this.#replica, head.fingerprint, signal);
      }
      const farPhase = state.phase === 'adopting' ? 'adopting' : whole ? 'reconciling' : 'catchingUp';
      const isComplete = !far && head.isSettled !== false && !misses;
      const { amendments } = head;
      const ends = {
        complete: isComplete,
        phase: far ? farPhase : 'following',
        amendments,
        misses
      } as const;
      const target = {
        first: since + 1,
        last: head.height,
        hashes,
        ...senderOf(this.#replica),
        ...(head.life && { life: head.life }),
        ...ends
      };
      const { maxRowBytes } = this.#replica.data;
      const limits = { maxRowBytes, batchBytes: BATCH_BYTES, maxBodyBytes: MAX_SINCE_BYTES };
      const body = steadily(response.body, source.url);
      const current = await this.#replica.store.reloadState();
      const received = readSnapshot(body, head.coding, limits);
      const batches = withinHeap(received, (held, limit) => tooLarge(source.url, held, limit));
      const lookupsHere =
        plain && reconciles
          ? await filledLookups(this.#replica.store.writer, this.#replica.store.context.schema)
          : null;
      const content = {
        batches: lookupsHere ? withTables(batches, lookupsHere) : batches,
        // Servers that do not mark whole tables still send lookup tables whole.
        whole: lookupsHere ?? head.whole,
        // Which tables a server without fingerprints sends is not known: what it leaves out of older blocks stays.
        from: plain ? since + 1 : firstBlock,
        derives: (plain || far) && !isTruncated,
        inParts: query.parts === true
      };
      await applySince(this.#replica.store.writer, this.#replica.store.context, current, target, content);
      this.#replica.store.contradicted = false;
      log.info({ from: since + 1, to: head.height }, 'caught up by snapshot');
      return 'agreed';
    } catch (caught) {
      const isContradiction = hasCode(caught, 'ROW_CONTRADICTION') && caught.detail['forked'] === undefined;
      if (isContradiction) await this.#contradicted(caught, wereWhole);
      throw caught;
    } finally {
      response.body.destroy();
    }
  }

  /** Returns whether its tables without blocks are as its source had them at the replica's block, or as its journal left them. */
  #mayTakeParts({ misses, phase, ids, floor }: ReplicaState): boolean {
    const isWhole = !misses && !this.#replica.store.contradicted && phase !== 'adopting';
    // Parts are named by the source's ids.
    return isWhole && ids.own.length === 0 && floor === null;
  }

  /**
   * Returns the first block from which rows are read again. It matters if the source does not know what changed while nobody
   * listened, and no later message repeats it: the span is as long as a source's memory, and short enough to be compared soon.
   */
  async #overlapStart(height: number): Promise<number> {
    const { writer, context } = this.#replica.store;
    const [lowest] = await rows(writer, 'SELECT MIN(block_index) AS h FROM blocks');
    const tables = context.schema.tables.filter(({ plan }) => plan.scope?.parent === null);
    const floor = Math.max(1, Number(lowest?.['h'] ?? height));
    for (let depth = OVERLAP_BLOCKS; depth > 0; depth >>= 1) {
      const from = Math.max(floor, height - depth + 1);
      const counts = tables.map(({ name }) => `(SELECT COUNT(*) FROM ${quoteName(name)} WHERE block_index >= ${from})`);
      const [row] = await rows(writer, `SELECT ${counts.join(' + ')} AS n`);
      if (Number(row?.['n']) <= OVERLAP_ROWS) return from;
    }
    return height + 1;
  }

  async #notApplied(response: OpenResponse, path: string): Promise<void> {
    const { client: source } = this.#replica.sources;
    try {
      await source.refuse(response, path);
    } catch (caught) {
      if (!(response.status === 404 && CAUGHT_UP.test((caught as Error).message))) throw caught;
    }
  }

  /** Asks for whole lookup tables, which settle a contradiction; where they were whole already, only a bootstrap does. */
  async #contradicted(caught: PlatformError, wereWhole: boolean): Promise<void> {
    if (wereWhole) throw new ReplicaLost(caught);
    this.#replica.store.contradicted = true;
  }

  /** Returns the highest id of each lookup table with its digest, so that only later rows need to come. */
  async #statedLookups(): Promise<string[]> {
    const { writer, context } = this.#replica.store;
    const stated: string[] = [];
    for (const { name, plan } of context.schema.tables) {
      if (plan.class !== 'lookup') continue;
      const [row] = await rows(writer, `SELECT MAX(id) AS id FROM ${quoteName(name)}`);
      if (row?.['id'] == null) continue;
      const id = row['id'] as number | string;
      stated.push(`${name}:${id}:${await lookupDigest(writer, plan, id)}`);
    }
    return stated;
  }
}

function misplaced(source: string, firstBlock: number): PlatformError {
  const reason = `the since-snapshot of ${source} begins at block ${firstBlock}, which was not asked for`;
  return new PlatformError('SOURCE_INVALID', { reason, source });
}

function tooLarge(source: string, heldBytes: number, limitBytes: number): PlatformError {
  const [held, limit] = [heldBytes, limitBytes].map((bytes) => Math.round(bytes / 2 ** 20));
  return new PlatformError('SOURCE_INVALID', {
    reason: `the since-snapshot of ${source} takes more memory than ACTOR_MEMORY_MB leaves for it (${held} MiB of ${limit})`,
    source
  });
}
