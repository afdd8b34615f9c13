import { type Connection, rows } from '../../../db/connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { INFRA_TABLES } from '../../../wire/data/messages.ts';
import { dropOldTables } from '../../ddl/gone-tables.ts';
import { planSchema, type SchemaPlan } from '../../ddl/schema-writer.ts';
import type { ReplicaActorData } from '../../protocol.ts';
import { missingControlTables } from '../../tables/control-tables.ts';
import { readEpochSizes } from '../../tables/epochs.ts';
import type { GroupExaminer, WriterContext } from '../apply/block-writer.ts';
import { type ReplicaSchema, readReplicaSchema } from '../database/schema.ts';
import { isForeign, openReplicaState, type ReplicaState, readReplicaState } from '../database/state.ts';
import { openWriter } from '../database/writer-connection.ts';

/** The replica's database: its one writer, the marker as last read, and its schema. */
export class ReplicaStore {
  readonly #data: ReplicaActorData;
  readonly #log: Logger;
  readonly #changed: () => void;
  readonly #examiner: GroupExaminer | null;
  readonly #waiting: (on: string | null) => void;
  #warned = false;
  #writer: Connection | undefined;
  #state: ReplicaState | undefined;
  #schema: ReplicaSchema | undefined;
  /** Blocks of an epoch, as the replica's log has them; before the first epoch is whole, as MERKLE_EPOCH_SIZE says. */
  #epochSize: number;
  /** The highest block that stays, by a reorg message that was not believed by itself; null: there was none. */
  toldFork: number | null = null;
  /** A statement named a table or column that is not here. */
  isTorn = false;
  /** A lookup row contradicted the replica: the next catch-up asks for whole lookup tables. */
  contradicted = false;

  /**
   * @param changed called whenever something that is reported has changed
   * @param waiting called with what the opening waits for, then with null
   */
  constructor(
    data: ReplicaActorData,
    log: Logger,
    changed: () => void,
    examiner: GroupExaminer | null,
    waiting: (on: string | null) => void
  ) {
    this.#data = data;
    this.#epochSize = data.epochSize;
    this.#log = log;
    this.#changed = changed;
    this.#examiner = examiner;
    this.#waiting = waiting;
  }

  get writer(): Connection {
    return opened(this.#writer);
  }

  get state(): ReplicaState {
    return opened(this.#state);
  }

  /** The marker as last read; undefined before the first look. */
  get knownState(): ReplicaState | undefined {
    return this.#state;
  }

  get context(): WriterContext {
    const { maxRollbackDepth } = this.#data;
    const examiner = this.#examiner && { examiner: this.#examiner };
    return { schema: opened(this.#schema), maxRollbackDepth, epochSize: this.#epochSize, ...examiner };
  }

  /**
   * Opens the writer when there is none, and reads the marker.
   *
   * @param adopt makes the marker of a database that another client made, where the operator said so
   */
  async open(adopt?: () => Promise<void>): Promise<void> {
    const { coordinates, generation, id, adopts, localTables } = this.#data;
    if (!this.#writer) {
      this.#writer = await openWriter(coordinates, { generation, waiting: this.#waiting });
      await this.#warnOfLazyLog(this.#writer);
    }
    if (adopt && adopts && (await isForeign(this.#writer, id.dbType, localTables))) {
      await this.reloadSchema();
      await adopt();
    }
    this.#state = await openReplicaState(this.#writer, id.dbType, localTables);
    this.#refuseOtherPart(this.#state);
  }

  async reloadState(): Promise<ReplicaState> {
    this.setState(await readReplicaState(this.writer));
    return this.state;
  }

  /** Takes the marker as it is now stored. */
  setState(state: ReplicaState): void {
    this.#state = state;
    this.#changed();
  }

  async reloadSchema(): Promise<void> {
    const { id, localTables } = this.#data;
    const leftOut = Object.keys(this.#state?.notReplicated ?? {});
    this.#schema = await readReplicaSchema(this.writer, id.dbType, [...localTables, ...leftOut], this.#only);
    if (id.dbType === 'indexer') await this.#readEpochSize();
  }

  /** Reads the epoch size of the log, which never changes: a log with epochs of several sizes has no proofs. */
  async #readEpochSize(): Promise<void> {
    const missing = await missingControlTables(this.writer);
    const sizes = missing.includes('merkle_epochs') ? [] : await readEpochSizes(this.writer);
    this.#epochSize = sizes.length === 1 ? sizes[0]! : this.#data.epochSize;
  }

  /** Returns the plan of this replica's tables, made from its source's schema. @throws {PlatformError} SCHEMA_REFUSED */
  planSchema(sourceSchema: Parameters<typeof planSchema>[0]): SchemaPlan {
    return planSchema(sourceSchema, this.#data.id.dbType, this.#data.localTables, this.#only);
  }

  /** Drops the tables that were set aside longer ago than GONE_TABLES_KEEP. */
  async dropOldTables(): Promise<void> {
    const { goneTablesKeptMs: keptMs } = this.#data;
    const dropped = keptMs === undefined ? [] : await dropOldTables(this.writer, keptMs);
    if (dropped.length > 0) this.#log.info({ dropped }, 'tables were dropped: they were set aside long ago');
  }

  /** Closes everything that is open: after a fault none of it can be trusted. */
  drop(): void {
    this.#writer?.destroy();
    this.#writer = undefined;
  }

  get #only(): ReadonlySet<string> | null {
    return this.#data.infraOnly ? INFRA_TABLES : null;
  }

  /** Refuses settings that ask for another part of the source than the bootstrap took: that needs a new bootstrap. */
  #refuseOtherPart({ height, infraOnly, floor }: ReplicaState): void {
    const { id, coordinates, infraOnly: wanted = false, stateDomain } = this.#data;
    if (height === null) return;
    const setting = `SYNC_SUBSCRIBE_${id.chain}_${id.network}`.toUpperCase();
    const reason =
      infraOnly !== wanted
        ? `${coordinates.name} is ${infraOnly ? 'an infra-only' : 'a full'} replica, ${setting} asks for ${wanted ? 'infra-only' : 'full'}`
        : floor !== null && stateDomain !== null
          ? `${coordinates.name} is truncated below block ${floor}, so no root can be recomputed: set VERIFY_STATE_COMMITMENT=false`
          : null;
    if (reason !== null) throw new PlatformError('REPLICA_PARTIAL', { reason });
  }

  /** Warns only; the operator may want this. */
  async #warnOfLazyLog(writer: Connection): Promise<void> {
    const [setting] = await rows<{ flush: number }>(writer, 'SELECT @@GLOBAL.innodb_flush_log_at_trx_commit AS flush');
    const flush = Number(setting?.flush);
    if (this.#warned || flush === 1) return;
    this.#warned = true;
    const loss = 'a power loss may take back the last second of blocks, which are then fetched again';
    this.#log.warn({ innodb_flush_log_at_trx_commit: flush }, `the replica server does not flush each commit: ${loss}`);
  }
}

function opened<T>(part: T | undefined): T {
  if (part === undefined) throw new PlatformError('INTERNAL', { reason: 'the replica is not open' });
  return part;
}
