import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Actor, createActor, fromPromise, type InspectionEvent, waitFor } from 'xstate';
import { epochCommitMachine } from '../../../../machines/sync/epoch-commit.ts';
import { epochOf, type LeafHashes } from '../../../consensus/epoch-tree.ts';
import type { Connection } from '../../../db/connection.ts';
import type { SerialConnection } from '../../../db/serial-connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { databaseKey } from '../../../wire/data/database.ts';
import type { SourceActorData } from '../../protocol.ts';
import {
  type BlockHead,
  type HeadLayout,
  readBlockHeads,
  readFirstHeight,
  readTip
} from '../../tables/block-hashes.ts';
import { createControlTables, missingControlTables } from '../../tables/control-tables.ts';
import {
  commitEpoch,
  dropEpochs,
  type EpochRewrite,
  readEpochBlocks,
  readEpochSizes,
  readMisfits,
  readOpenEpochs,
  writeEpoch
} from '../../tables/epochs.ts';
import { readLayout } from '../../tables/source-layout.ts';
import {
  type BroadcastBlock,
  findBreak,
  type LoggedBlock,
  pruneFrom,
  readLoggedHeight,
  readRetimed,
  readUnrecorded,
  recordBlocks,
  tells,
  type UnrecordedBlock
} from '../../tables/transparency-log.ts';
import { placeOf } from '../reading/database-mark.ts';

/** Blocks and epochs of one step of the gap repair. */
const BACKFILL_BLOCKS = 2_000;
const BACKFILL_EPOCHS = 50;
const COMMIT_RETRY_MS = 1_000;

interface TransparencyOptions {
  readonly data: Pick<
    SourceActorData,
    'id' | 'coordinates' | 'readOnly' | 'epochSize' | 'stateDirectory' | 'localTables'
  >;
  readonly log: Pick<Logger, 'warn'>;
  /** Blocks wait for its statements. */
  readonly logWriter: SerialConnection;
  /** Connection for callers' reads of the log. */
  readonly logReader: SerialConnection;
  readonly observe: (inspection: InspectionEvent) => void;
  /** Computes roots on the task pool. */
  readonly computeRoots: (
    epochs: readonly { readonly epoch: number; readonly blocks: readonly LeafHashes[] }[]
  ) => Promise<readonly { readonly epoch: number; readonly root: string }[]>;
}

/**
 * Keeps an indexer's transparency log beside its broadcasts; of a decoder there is none.
 *
 * With `readOnly` not one writing statement is tried: the rows arrive by other means.
 */
export class SourceTransparency {
  readonly #options: TransparencyOptions;
  readonly #writes: boolean;
  /** Epochs that a reorg removed, with the root that they had. */
  readonly #removed = new Map<number, { readonly oldRoot: string | null; readonly fork: number }>();
  /** Lines of the audit that are not on disk yet. */
  readonly #unwritten: object[] = [];
  #commits: Actor<typeof epochCommitMachine> | undefined;
  /** Fulfilled when the log has the times that blocks had when the group under way began. */
  #timed: Promise<void> = Promise.resolve();
  /** Error of the last commit, until it is reported. */
  #fault: { readonly error: unknown } | null = null;
  /** Blocks of an epoch, as the log has them; before the first epoch is whole, as MERKLE_EPOCH_SIZE says. */
  #epochSize: number;
  /** Reason why the log cannot be read; null when it can. */
  missing: string | null = null;

  constructor(options: TransparencyOptions) {
    this.#options = options;
    this.#epochSize = options.data.epochSize;
    this.#writes = options.data.id.dbType === 'indexer' && !options.data.readOnly;
  }

  /** Makes the control tables where they are missing and may be made. */
  async prepare(): Promise<void> {
    if (this.#options.data.id.dbType !== 'indexer') return;
    await this.#options.logWriter.use(async (connection) => {
      if (this.#writes) await createControlTables(connection);
      const missing = (await missingControlTables(connection)).filter((table) => table !== 'sync_halt');
      this.missing =
        missing.length === 0
          ? null
          : `missing ${missing.join(' and ')}: the read-only database must bring these tables`;
      if (this.missing === null) await this.#readEpochSize(connection);
    });
  }

  get epochSize(): number {
    return this.#epochSize;
  }

  /**
   * Reads the epoch size of the log, which never changes: with another one the same blocks have other roots, and the
   * proofs that people keep lead nowhere.
   */
  async #readEpochSize(connection: Connection): Promise<void> {
    const { data, log } = this.#options;
    const sizes = await readEpochSizes(connection);
    this.#epochSize = sizes.length === 1 ? sizes[0]! : data.epochSize;
    if (this.#epochSize !== data.epochSize)
      log.warn(
        { used: this.#epochSize },
        `MERKLE_EPOCH_SIZE=${data.epochSize} is not used: the log has epochs of ${this.#epochSize} blocks, whose proofs must stay valid; set it to that`
      );
    if (sizes.length < 2 || !this.#writes) return;
    const gone = await dropEpochs(connection, await readMisfits(connection, this.#epochSize));
    log.warn(
      { sizes, epochs: gone.map(({ epoch }) => epoch) },
      `the log has epochs of several sizes: those that are not of ${this.#epochSize} blocks are made anew`
    );
    await this.#giveUp(gone);
  }

  /** Records every block that is not recorded, and commits every full epoch that is not committed from all its blocks. */
  async backfill(): Promise<void> {
    if (!this.#writes) return;
    const { logWriter, data } = this.#options;
    const layout = await logWriter.use((connection) => readLayout(connection, data.id.dbType, data.localTables));
    const { heads } = layout;
    if (!heads) return this.#startCommits(0);
    const tip = (await logWriter.use((connection) => readTip(connection, heads)))?.height ?? -1;
    const first = (await logWriter.use(readFirstHeight)) ?? 0;
    await this.prune(tip + 1);
    for (let from = first; from <= tip; from += BACKFILL_BLOCKS) {
      const to = Math.min(tip, from + BACKFILL_BLOCKS - 1);
      await this.#rewrite(await logWriter.use((connection) => readUnrecorded(connection, heads, from, to)));
    }
    // Blocks may be gone since the tip was read: an epoch of which some are missing is not full.
    const height = await logWriter.use(readLoggedHeight);
    await this.#commitAll(await logWriter.use((connection) => readOpenEpochs(connection, this.#epochSize, height)));
    this.#startCommits(height);
  }

  /**
   * Rewrites blocks of the log. It drops an epoch before its leaves change, so that the epoch is found open whatever
   * ends this in between.
   */
  async #rewrite(blocks: readonly UnrecordedBlock[]): Promise<void> {
    const { logWriter } = this.#options;
    const others = blocks.filter(({ sameLeaf }) => !sameLeaf);
    const epochs = new Set(others.map(({ height }) => epochOf(height, this.#epochSize)));
    await this.#giveUp(await logWriter.use((connection) => dropEpochs(connection, [...epochs])));
    await logWriter.use((connection) => recordBlocks(connection, blocks));
  }

  /** @param fork where the chain left what these epochs were made of; their own first block where it is not known */
  async #giveUp(gone: readonly EpochRewrite[], fork?: number): Promise<void> {
    const forkOf = (epoch: number) => fork ?? (epoch - 1) * this.#epochSize + 1;
    for (const { epoch, old_root } of gone) this.#removed.set(epoch, { oldRoot: old_root, fork: forkOf(epoch) });
    for (const rewrite of gone) this.#audit(rewrite, forkOf(rewrite.epoch));
    await this.#writeAudit();
  }

  async #commitAll(epochs: readonly number[]): Promise<void> {
    const { logWriter, computeRoots } = this.#options;
    for (let start = 0; start < epochs.length; start += BACKFILL_EPOCHS) {
      const batch = await logWriter.use(async (connection) => {
        const read = [];
        for (const epoch of epochs.slice(start, start + BACKFILL_EPOCHS)) {
          read.push({ epoch, blocks: await readEpochBlocks(connection, epoch, this.#epochSize) });
        }
        return read.filter(({ blocks }) => blocks.length > 0);
      });
      const roots = new Map((await computeRoots(batch)).map(({ epoch, root }) => [epoch, root]));
      for (const { epoch, blocks } of batch) {
        const summary = {
          epoch,
          startBlock: Number(blocks[0]!.block_index),
          endBlock: Number(blocks.at(-1)!.block_index),
          root: roots.get(epoch)!,
          leafCount: blocks.length
        };
        await this.#note(epoch, await logWriter.use((connection) => writeEpoch(connection, summary)));
      }
    }
  }

  #startCommits(height: number): void {
    const epochSize = this.#epochSize;
    const epoch = Math.floor(Math.max(0, height) / epochSize) + 1;
    const input = { epochSize, epoch, height: Math.max(0, height), retryMs: COMMIT_RETRY_MS };
    const machine = epochCommitMachine.provide({
      actors: { commit: fromPromise(({ input: { epoch: full } }) => this.#commit(full)) },
      actions: { tellFault: (_, fault) => (this.#fault = fault) }
    });
    this.#commits?.stop();
    this.#commits = createActor(machine, { input, inspect: this.#options.observe }).start();
  }

  /** Begins to bring the log up to date while a group is read: it gets the present times of the blocks that were broadcast before. */
  beginGroup(recent: readonly BroadcastBlock[], heads: HeadLayout): void {
    const [first, last] = [recent[0], recent.at(-1)];
    if (!this.#writes || !first || !last) return;
    this.#timed = this.#retime(heads, first.height, last.height);
    this.#timed.catch(() => undefined); // `record` rethrows it
  }

  /** Brings the log up to date with the present times of blocks. */
  async retime(recent: readonly BroadcastBlock[], heads: HeadLayout): Promise<void> {
    const [first, last] = [recent[0], recent.at(-1)];
    if (this.#writes && first && last) await this.#retime(heads, first.height, last.height);
  }

  /**
   * Records blocks that are about to be broadcast, and commits the epochs that they fill.
   *
   * @param recent what was broadcast before them: where the log differs, it is rewritten
   */
  async record(blocks: readonly LoggedBlock[], recent: readonly BroadcastBlock[], heads: HeadLayout): Promise<void> {
    const [first, last] = [blocks[0], blocks.at(-1)];
    if (!this.#writes || !first || !last) return;
    const { logWriter } = this.#options;
    const timed = this.#timed;
    this.#timed = Promise.resolve(); // a fault is reported once
    await timed;
    const from = await logWriter.use((connection) => findBreak(connection, blocks, recent));
    const lost = recent.filter(({ height }) => height >= (from ?? first.height));
    const again = lost.length === 0 ? [] : await logWriter.use((connection) => readAgain(connection, lost, heads));
    if (from !== null) await this.prune(from);
    await logWriter.use((connection) => recordBlocks(connection, [...again, ...blocks]));
    this.#commits?.send({ type: 'block.recorded', height: last.height });
    await this.committed();
  }

  /** Returns whether the log has the times of the blocks up to a height in a snapshot; if not, writes those that are there now. */
  async follows(connection: Connection, heads: HeadLayout, height: number): Promise<boolean> {
    const isRight = (await readRetimed(connection, heads, 0, height)).length === 0;
    if (!isRight && this.#writes) await this.#retime(heads, 0, height);
    return isRight;
  }

  /**
   * Compares the times of blocks in the log with the present ones and writes those that differ: a group that was not
   * broadcast may have left others under the same hashes.
   */
  #retime(heads: HeadLayout, from: number, to: number): Promise<void> {
    return this.#options.logWriter.use(async (connection) => {
      await recordBlocks(connection, await readRetimed(connection, heads, from, to));
    });
  }

  /** Returns when no commit is under way. @throws why the last one failed, once; it is tried again by itself */
  async committed(): Promise<void> {
    if (this.#commits) await waitFor(this.#commits, (snapshot) => !snapshot.matches('committing'));
    const fault = this.#fault;
    this.#fault = null;
    if (fault) throw fault.error;
    await this.#writeAudit();
  }

  async #commit(epoch: number): Promise<void> {
    const { logWriter } = this.#options;
    await this.#note(epoch, await logWriter.use((connection) => commitEpoch(connection, epoch, this.#epochSize)));
  }

  /** @param written null: it was committed so already */
  async #note(epoch: number, written: EpochRewrite | null): Promise<void> {
    const removed = this.#removed.get(epoch);
    this.#removed.delete(epoch);
    if (!written) return;
    const old_root = removed ? removed.oldRoot : written.old_root;
    this.#audit({ ...written, old_root }, removed?.fork ?? (epoch - 1) * this.#epochSize + 1);
    await this.#writeAudit();
  }

  /** Removes orphaned blocks and the epochs that hold any; they are committed again once they are full. */
  async prune(fork: number): Promise<void> {
    if (!this.#writes) return;
    const gone = await this.#options.logWriter.use((connection) =>
      inTransaction(connection, () => pruneFrom(connection, fork))
    );
    this.#commits?.send({ type: 'reorg.detected', forkHeight: fork });
    await this.#giveUp(gone, fork);
  }

  /** Runs a read of the log. @throws {PlatformError} DATABASE_UNUSABLE when its tables are missing */
  async read<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    if (this.missing !== null) throw new PlatformError('DATABASE_UNUSABLE', { reason: this.missing });
    return this.#options.logReader.use(work);
  }

  /** Adds a line for each committed root that was given up, and for the one that took its place; a first commit is none. */
  #audit(rewrite: EpochRewrite, fork: number): void {
    if (rewrite.old_root === null) return;
    const { id, coordinates } = this.#options.data;
    const facts = { database: databaseKey(id), place: placeOf(coordinates) };
    this.#unwritten.push({ ...facts, ...rewrite, fork_height: fork, at: new Date().toISOString() });
  }

  /** Writes the lines that wait. @throws {PlatformError} STATE_UNWRITABLE: they wait, and nothing is broadcast before them */
  async #writeAudit(): Promise<void> {
    const lines = this.#unwritten.splice(0);
    if (lines.length === 0) return;
    const { stateDirectory } = this.#options.data;
    const path = join(stateDirectory, 'epoch-rewrites.jsonl');
    try {
      await mkdir(stateDirectory, { recursive: true, mode: 0o700 });
      await appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
    } catch (caught) {
      const since = this.#unwritten.splice(0);
      for (const line of [...lines, ...since]) this.#unwritten.push(line);
      const { code, message } = caught as NodeJS.ErrnoException;
      const reason = `the rewritten epochs cannot be noted in ${path}: ${code ?? message}`;
      throw new PlatformError('STATE_UNWRITABLE', { reason }, { cause: caught });
    }
  }
}

/** Reads broadcast blocks again. The database may have left them since; then the fork is found next. */
async function readAgain(
  connection: Connection,
  blocks: readonly BroadcastBlock[],
  heads: HeadLayout
): Promise<readonly LoggedBlock[]> {
  const found = await readBlockHeads(connection, heads, blocks[0]!.height, blocks.at(-1)!.height);
  const isThere = ({ height, hashes }: BroadcastBlock) =>
    found.some((head) => head.height === height && tells(head.hashes as LeafHashes, hashes));
  if (blocks.every(isThere)) return found as readonly (BlockHead & LoggedBlock)[];
  throw new PlatformError('DATABASE_UNAVAILABLE', { reason: 'the chain changed while its log was rewritten' });
}

async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.query('START TRANSACTION');
  const result = await work();
  await connection.query('COMMIT');
  return result;
}
