import type { Outcome } from '../../machines/sync/replica.ts';
import { quoteName, rows } from '../../src/db/core/connection.ts';
import { followSchema } from '../../src/db/ddl/schema-writer.ts';
import { refuseLoss } from '../../src/db/replica/adoption.ts';
import { applySince } from '../../src/db/replica/block-writer.ts';
import { planRollback, rollBack } from '../../src/db/replica/rollback.ts';
import { type ReplicaState, writeReplicaState } from '../../src/db/replica/state.ts';
import { readGroupsAbove } from '../../src/db/replica/undo-journal.ts';
import { STATEMENT_LIMIT_S } from '../../src/db/replica/writer-connection.ts';
import { readBlockHeads } from '../../src/db/tables/block-hashes.ts';
import { lookupDigest } from '../../src/db/tables/lookup-digest.ts';
import { hasCode, PlatformError } from '../../src/errors.ts';
import { ACCEPT_SNAPSHOT, readSnapshotHead } from '../../src/sync/client/snapshot-head.ts';
import type { SinceQuery, SourceStatus } from '../../src/sync/client/source-client.ts';
import type { OpenResponse } from '../../src/sync/client/source-connection.ts';
import { steadily } from '../../src/sync/client/steady.ts';
import { readSnapshot } from '../../src/sync/snapshot/snapshot-reader.ts';
import { type BlockHashes, unknownHashes } from '../../src/wire/database.ts';
import { withinHeap } from '../runtime/heap-share.ts';
import { SourceHeads } from './heads.ts';
import type { Replica } from './replica.ts';
import type { SourceQuorum, Verdict } from './source-quorum.ts';
import { filledLookups, withTables } from './whole-lookups.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'progress' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment'>;

/** A catch-up over more blocks than this runs in ranges, during which the replica is not complete. */
const RANGE_BLOCKS = 5_000;
const BATCH_BYTES = 2 ** 20;
/** Of a since-snapshot, when it is expanded; what is beyond the memory of the thread is refused long before. */
const MAX_SINCE_BYTES = 8 * 2 ** 30;
/** A source looks for changes in as many blocks; what is held in memory bounds it too. */
const OVERLAP_BLOCKS = 1_000;
const OVERLAP_ROWS = 200_000;
/** Blocks that came while a snapshot was applied are left to the live stream, unless there are more. */
const LIVE_BLOCKS = 100;
/** Between two looks at a source that has nothing new yet. */
const IDLE_PAUSE_MS = 500;
const CAUGHT_UP = /No data available after block/;

type Examination = 'stands' | 'untold' | 'unsettled';

/** Brings a replica that was away, or rolled back, to its source's tip; and back below a fork. */
export class ReplicaChain {
  readonly #replica: Parts;
  readonly #sourceQuorum: SourceQuorum;

  constructor(replica: Parts, sourceQuorum: SourceQuorum) {
    this.#replica = replica;
    this.#sourceQuorum = sourceQuorum;
  }

  /**
   * Compares its tip with the source's chain, then applies since-snapshots until the live stream has what is missing. The stream
   * is open before it begins, so it tells every block above the first height that the source is asked for.
   *
   * @param reconcile after a rollback: not over until a since-snapshot with whole tables is applied
   */
  async catchUp(reconcile: boolean, signal: AbortSignal): Promise<Outcome> {
    const { client: source } = this.#replica.sources;
    const subscription = await this.#replica.stream.subscription();
    let state = await this.#replica.store.reloadState();
    let mustReconcile = reconcile || state.phase === 'reconciling';
    const from = state.height ?? 0;
    const tip = { height: -1, since: 0 };
    /** The live stream tells every block above it. */
    let told: number | null = null;
    let isUntold = false;
    for (let checked = false; ; ) {
      signal.throwIfAborted();
      const status = await source.status(signal);
      this.#replica.sources.standsAt(status.height);
      told ??= status.height;
      if (status.height !== tip.height) Object.assign(tip, { height: status.height, since: performance.now() });
      if (!checked) {
        const examined = await this.#examine(state, status, signal);
        if (typeof examined === 'object') return examined;
        isUntold = examined !== 'stands';
        checked = examined !== 'unsettled';
      }
      const own = state.height!;
      const missing = (status.height ?? own) - own;
      const isAwaited = mustReconcile || isUntold;
      const isTold = told !== null && own >= told && missing <= LIVE_BLOCKS;
      if (checked && missing > 0 && (isAwaited || !isTold)) {
        const verdict = await this.#applySince(state, status, mustReconcile || state.phase === 'adopting', signal);
        if (verdict === 'halted') return { kind: 'halted' };
        state = await this.#replica.store.reloadState();
        // A source that tells of blocks which its snapshots do not hold yet, or has left the branch that it told of.
        if (state.height === own) await subscription.pause(IDLE_PAUSE_MS, signal);
        else isUntold = false;
        if (verdict === 'other') checked = false;
        mustReconcile = state.phase === 'reconciling';
        const total = Math.max(1, own + missing - from);
        this.#replica.progress.percent = Math.floor((100 * (state.height! - from)) / total);
      } else if (isAwaited) {
        await subscription.pause(IDLE_PAUSE_MS, signal);
        checked = false; // what comes may be another branch
      } else break;
      if (isUntold) this.#sourceQuorum.throwIfLeftBehind(status.height ?? -1, performance.now() - tip.since);
    }
    this.#replica.progress.percent = null;
    if (!state.complete || state.phase !== 'following') {
      await writeReplicaState(this.#replica.store.writer, { complete: true, phase: 'following' });
      state = await this.#replica.store.reloadState();
    }
    return { kind: 'done' };
  }

  /**
   * Undoes the groups above a height. `halted` when that is deeper than MAX_ROLLBACK_DEPTH; `lost` when the journal does not
   * reach: rows that the source's own rollback keeps or changes elsewhere could not be told then, so all are loaded anew.
   */
  async rollBack(height: number): Promise<Outcome> {
    const { writer, context } = this.#replica.store;
    const { data, log } = this.#replica;
    const state = await this.#replica.store.reloadState();
    const depth = state.height! - height;
    this.#replica.progress.reorgs++;
    if (depth > data.maxRollbackDepth) {
      const limit = data.maxRollbackDepth;
      await this.#replica.halt.raise('max-rollback-depth-exceeded', height + 1, { depth, limit });
      return { kind: 'halted' };
    }
    const plan = await planRollback(writer, state.height!, height);
    if (plan === null) {
      refuseLoss(state, `its source's chain leaves it below block ${height + 1}`);
      log.warn({ height }, 'the fork is below the undo journal: bootstrapping the replica again');
      return { kind: 'lost' };
    }
    if (plan.groups.length > 0) {
      try {
        await rollBack(writer, context, state, plan);
        await this.#replica.commitment?.rollBack(plan.height);
      } catch (caught) {
        // Rows that were repaired or changed by hand in between are not in the journal.
        throw hasCode(caught, 'ROW_CONTRADICTION') ? new ReplicaLost(caught) : caught;
      }
    } else await writeReplicaState(writer, { complete: false, phase: 'reconciling' });
    await this.#replica.store.reloadState();
    log.info({ fork: height + 1, height: plan.height, groups: plan.groups.length }, 'rolled back');
    return { kind: 'done' };
  }

  /**
   * Brings the tables to the source's schema. A replica whose rows do not fit it is loaded anew.
   *
   * @param fingerprint what the source's next rows are made for
   */
  async followSchema(fingerprint: string | null, signal: AbortSignal): Promise<void> {
    const { writer } = this.#replica.store;
    const { log } = this.#replica;
    const plan = this.#replica.store.planSchema(await this.#replica.sources.client.schema(signal));
    try {
      await writer.query('SET SESSION max_statement_time = 0'); // a large table takes its time
      const tables = await followSchema(writer, plan);
      await writer.query(`SET SESSION max_statement_time = ${STATEMENT_LIMIT_S}`);
      if (tables.length > 0) log.info({ fingerprint, tables }, 'tables altered to the newer schema of the source');
    } catch (caught) {
      throw hasCode(caught, 'ROW_CONTRADICTION') ? new ReplicaLost(caught) : caught;
    }
    await writeReplicaState(writer, { schemaFingerprint: fingerprint });
    await this.#replica.store.reloadSchema();
    await this.#replica.store.reloadState();
  }

  /** The hashes of one of the replica's own blocks; null where it has none. */
  async ownHashes(height: number): Promise<BlockHashes | null> {
    const { heads, only } = this.#replica.store.context.schema;
    if (only) return this.#keptHashes(height);
    if (!heads) return null;
    const [head] = await readBlockHeads(this.#replica.store.writer, heads, height, height);
    return head?.hashes ?? null;
  }

  /** A replica without blocks knows the hashes of its own block, and those that its groups began after. */
  async #keptHashes(height: number): Promise<BlockHashes | null> {
    const { state, writer } = this.#replica.store;
    if (height === state.height) return state.hashes;
    const groups = await readGroupsAbove(writer, height);
    return groups.find(({ base }) => base.height === height)?.base.hashes ?? null;
  }

  /**
   * Whether the replica's tip stands: on the chain of the source that is followed, and for the majority of all. Where the others
   * have passed it and cannot name it, the chain of the one that is followed counts, if a majority names the block where it ends.
   *
   * @returns where it leads when it does not stand; `untold`: it does if the block that a catch-up ends at is agreed on;
   *   `unsettled`: the source that is followed has left it, and nobody names where that one stands now
   */
  async #examine(state: ReplicaState, status: SourceStatus, signal: AbortSignal): Promise<Outcome | Examination> {
    const heads = new SourceHeads(this.#replica, (height) => this.ownHashes(height), status, signal);
    const fork = await this.#findFork(state, status, heads);
    if (fork === null && !this.#sourceQuorum.isSitting) return 'stands';
    const at = fork === null ? state.height! : Math.min(state.height!, status.height!);
    const own = await this.ownHashes(at);
    if (own === null) return fork === null ? 'stands' : { kind: 'forked', height: fork };
    const followed = { said: status.height === at ? status.hashes : null, hasBlock: fork === null };
    let verdict = await this.#sourceQuorum.confirmOwnBlock(at, own, followed, signal);
    if (verdict === 'untold') {
      if (fork === null) return 'untold';
      verdict = await this.#sourceQuorum.confirm(status.height!, status.hashes, signal);
      if (verdict === 'other' || verdict === 'untold') return 'unsettled';
      if (verdict === 'agreed') return { kind: 'forked', height: fork };
    }
    if (verdict === 'halted') return { kind: 'halted' };
    return verdict === 'agreed' ? 'stands' : { kind: 'forked', height: fork ?? at - 1 };
  }

  /** @returns the highest height that both chains share when the replica's tip is not on the source's chain; else null */
  async #findFork(state: ReplicaState, status: SourceStatus, heads: SourceHeads): Promise<number | null> {
    const tip = state.height!;
    if (status.height === null) return null;
    const at = Math.min(tip, status.height);
    // A marker above the rows is as far from the source's chain as rows of another branch are.
    const isMissing = !this.#replica.store.context.schema.only && (await this.ownHashes(at)) === null;
    if (!isMissing && (await heads.isShared(at)) !== false) return null;
    this.#replica.log.warn({ block: at }, `hash chain discontinuity at block ${at + 1}`);
    const bases = (await readGroupsAbove(this.#replica.store.writer, -1)).map(({ base }) => base.height);
    const candidates = bases.filter((height) => height < at);
    // Newest first; chains that agree at a height agree below it. Where the source does not tell, it is not shared.
    let [low, high] = [0, candidates.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((await heads.isShared(candidates[middle]!)) === true) high = middle;
      else low = middle + 1;
    }
    return candidates[low] ?? (candidates.at(-1) ?? at) - 1;
  }

  /** @returns what the sources say of the block that it would end at; only what they agree on is applied */
  async #applySince(state: ReplicaState, status: SourceStatus, whole: boolean, signal: AbortSignal): Promise<Verdict> {
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
    // What another source told, this one does not know of.
    const isOther = state.source !== source.url;
    const query: SinceQuery = {
      ...(isPlain || far || isOther ? { since: lowest - 1 } : { since, older: lowest }),
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
      const hashes = head.hashes ?? (head.height === tip ? status.hashes : unknownHashes(source.id.dbType));
      const verdict = far ? 'agreed' : await this.#sourceQuorum.confirm(head.height, hashes, signal);
      if (verdict !== 'agreed') return verdict;
      const firstBlock = query.older === undefined ? lowest : (head.firstBlock ?? since + 1);
      if (firstBlock < lowest || firstBlock > since + 1) throw misplaced(source.url, firstBlock);
      const plain = head.fingerprint === null;
      wereWhole = plain ? reconciles : wereWhole;
      if (plain || head.fingerprint !== state.schemaFingerprint) {
        await this.followSchema(head.fingerprint, signal);
      }
      const farPhase = state.phase === 'adopting' ? 'adopting' : whole ? 'reconciling' : 'catchingUp';
      const ends = { complete: !far, phase: far ? farPhase : 'following' } as const;
      const target = { first: since + 1, last: head.height, hashes, source: source.url, ...ends };
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
        // Servers that do not mark whole tables send lookup tables whole all the same.
        whole: lookupsHere ?? head.whole,
        // Which tables a server without fingerprints sends is not known: what it leaves out of older blocks stays.
        from: plain ? since + 1 : firstBlock,
        derives: (plain || far) && !isTruncated
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

  /**
   * Where rows of older blocks are to be looked at again, if the source does not know which changed while nobody listened, and
   * no message says so again: the newest blocks, as many as a source remembers and as are soon compared.
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

  /** Whole lookup tables settle a contradiction; where they were whole already, only a bootstrap does. */
  async #contradicted(caught: PlatformError, wereWhole: boolean): Promise<void> {
    if (wereWhole) throw new ReplicaLost(caught);
    this.#replica.store.contradicted = true;
  }

  /** What this replica holds of each lookup table, so that only later rows need to come. */
  async #statedLookups(): Promise<string[]> {
    const { writer, context } = this.#replica.store;
    const stated: string[] = [];
    for (const { name, plan } of context.schema.tables) {
      if (plan.class !== 'lookup') continue;
      const [row] = await rows(writer, `SELECT MAX(id) AS id FROM ${quoteName(name)}`);
      if (row?.['id'] == null) continue;
      const id = Number(row['id']);
      stated.push(`${name}:${id}:${await lookupDigest(writer, plan, id)}`);
    }
    return stated;
  }
}

/** The replica contradicts its source in a way that only loading it anew can settle. */
export class ReplicaLost extends Error {
  constructor(cause: PlatformError) {
    super(cause.message, { cause });
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
