import type { Outcome } from '../../../../machines/sync/replica.ts';
import { hasCode, type PlatformError } from '../../../errors.ts';
import { type BlockHashes, blockText, hashesOf, sameBlock } from '../../../wire/data/database.ts';
import type {
  AmendmentMessage,
  BlockMessage,
  ServerMessage,
  SettledMessage,
  StatusMessage
} from '../../../wire/data/messages.ts';
import { canUndo, markMissing } from '../parts/doubt.ts';
import { heedLearned } from '../parts/learned.ts';
import { ownHashes } from '../parts/own-hashes.ts';
import type { Replica } from '../parts/replica.ts';
import type { SourceQuorum, Verdict } from '../quorum/source-quorum.ts';
import type { ReplicaAudit } from '../verifying/audit.ts';
import type { ReplicaCheckpoints } from '../verifying/checkpoints.ts';
import type { ReplicaIndexMap } from '../verifying/index-map.ts';
import type { ReplicaDispensers } from './dispensers.ts';
import { GroupWriter } from './group-writer.ts';
import { type BlockTip, PendingGroups, type ReadyGroup } from './pending-groups.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment' | 'open' | 'drop'>;

const WAIT_MS = 1_000;
/** Waits in a row after which a source that sends nothing is asked where it stands. */
const QUIET_WAITS = 10;
const ASK_LIMIT_MS = 5_000;
/** Waits in a row after which a group that has begun counts as broken off. */
const GROUP_PATIENCE = 15;
/** Bytes of amendments that are applied together. */
const AMENDED_BYTES = 4 * 2 ** 20;
/** Milliseconds without an end of the source's look, after which the replica is compared all the same. */
const SETTLE_PATIENCE_MS = 60_000;

const isSame = (a: BlockHashes | null, b: BlockHashes): boolean => a === null || sameBlock(a, b);

/** Applies live blocks, group by group, as long as each follows the one before; groups that wait together go in one transaction. */
export class ReplicaFollower {
  readonly #replica: Parts;
  readonly #audit: ReplicaAudit;
  readonly #sourceQuorum: SourceQuorum;
  readonly #dispensers: ReplicaDispensers;
  readonly #checkpoints: ReplicaCheckpoints;
  readonly #indexMap: ReplicaIndexMap;
  readonly #pending: PendingGroups;
  readonly #writer: GroupWriter;
  /** Time by `performance.now()` since which the last block may be amended; null: it is settled. */
  #settlingSince: number | null = null;
  /** By its last answer the source has blocks that it did not send. */
  #isUnsent = false;
  /** The highest block of the stream; it may have been skipped because its parent was missing. */
  #announced = -1;

  constructor(
    replica: Parts,
    {
      audit,
      sourceQuorum,
      dispensers,
      checkpoints,
      indexMap
    }: {
      readonly audit: ReplicaAudit;
      readonly sourceQuorum: SourceQuorum;
      readonly dispensers: ReplicaDispensers;
      readonly checkpoints: ReplicaCheckpoints;
      readonly indexMap: ReplicaIndexMap;
    }
  ) {
    this.#replica = replica;
    this.#pending = new PendingGroups(replica.data.id.dbType);
    this.#writer = new GroupWriter(replica, audit);
    this.#audit = audit;
    this.#sourceQuorum = sourceQuorum;
    this.#dispensers = dispensers;
    this.#checkpoints = checkpoints;
    this.#indexMap = indexMap;
  }

  /**
   * Ends when something else than the next block comes, when it is at rest and a comparison is due, when it is stopped,
   * then between two groups.
   */
  async follow(signal: AbortSignal): Promise<Outcome> {
    try {
      return await this.#follow(signal);
    } catch (caught) {
      if (hasCode(caught, 'CHAIN_BROKEN')) return this.#goBack(caught);
      if (!hasCode(caught, 'STATE_ROOT_MISMATCH')) throw caught;
      return this.#halt(caught);
    }
  }

  /** Goes back to the catch-up, which finds the fork: the stored tip is not the block that the next one follows, and its writer is gone. */
  async #goBack(fault: PlatformError): Promise<Outcome> {
    this.#replica.log.warn({ err: fault }, `${fault.message}: catching up by snapshot`);
    this.#replica.drop(fault);
    await this.#replica.open();
    return { kind: 'behind' };
  }

  async #follow(signal: AbortSignal): Promise<Outcome> {
    const subscription = await this.#replica.stream.subscription();
    // Others that are compared with the source may leave the replica's block while the stream is down.
    if (!this.#sourceQuorum.isActive) this.#replica.stream.noteLive();
    this.#pending.clear();
    const { complete, misses, amendments } = this.#replica.store.state;
    // A snapshot brought the block before its source had looked at everything: amendments follow it as they follow a message.
    if (!complete && !misses && amendments !== null && !this.#audit.isDiffering)
      this.#settlingSince ??= performance.now();
    let ahead: ServerMessage | null = null;
    for (let idle = 0; !signal.aborted; idle++) {
      const isBetween = this.#pending.isEmpty;
      const atRest = isBetween && ahead === null && subscription.waiting === 0;
      this.#indexMap.check();
      const contradicted = isBetween ? await this.#checkpoints.check() : null;
      if (contradicted) return contradicted;
      if (atRest) await this.#compareRoots();
      if (atRest && !this.#isSettling && this.#audit.isDueAtRest()) return { kind: 'due' };
      if (atRest && this.#dispensers.isDue) await this.#dispensers.replace(signal);
      const message: ServerMessage | null = ahead ?? (await subscription.next(WAIT_MS, signal));
      ahead = null;
      if (message === null) {
        this.#checkOthers(idle * WAIT_MS);
        if (idle > 0 && idle % QUIET_WAITS === 0 && (await this.#isKeptBack(signal))) return { kind: 'behind' };
        const patience = this.#pending.hasBegun ? GROUP_PATIENCE : 1;
        if (this.#announced > this.#replica.store.state.height! && idle >= patience) return { kind: 'behind' };
        continue;
      }
      idle = 0;
      this.#isUnsent = false;
      if (message.type !== 'block') {
        const outcome = await this.#applyReady(signal);
        if (outcome) return outcome;
      }
      switch (message.type) {
        case 'status':
          this.#replica.sources.standsAt(message.block_height);
          this.#replica.sources.lives = message.lives ?? [];
          if (await heedLearned(this.#replica, message.learned)) this.#audit.scheduleNow();
          this.#announced = message.block_height ?? -1;
          if (!this.#pending.hasBegun && this.#isOtherTip(message)) return { kind: 'behind' };
          break;
        case 'reorg': {
          this.#announced = message.block_index - 1;
          const outcome = await this.#leave(message.block_index, signal);
          if (outcome) return outcome;
          this.#pending.takeBack(message.block_index);
          break;
        }
        case 'amendment': {
          const amendments = [message];
          for (let bytes = 0; ahead === null && bytes < AMENDED_BYTES && subscription.nextBytes !== null; ) {
            bytes += subscription.nextBytes;
            const next = await subscription.next(0, signal);
            if (next?.type === 'amendment') amendments.push(next);
            else ahead = next;
          }
          const outcome = await this.#amend(amendments);
          if (outcome) return outcome;
          // More may be on its way, for as long as some comes.
          if (this.#settlingSince !== null) this.#settlingSince = performance.now();
          break;
        }
        case 'settled':
          this.#settlingSince = null;
          if (this.#isOfOurs(message)) await this.#writer.settle(message);
          break;
        case 'block': {
          const outcome = await this.#take(message, signal);
          if (outcome) return outcome;
        }
      }
      if (this.#pending.isTime(subscription.nextBytes)) {
        const outcome = await this.#applyReady(signal);
        if (outcome) return outcome;
      }
    }
    return { kind: 'done' };
  }

  /** The source still looks for changes of the last block; a comparison would find what is about to come. */
  get #isSettling(): boolean {
    if (this.#settlingSince === null || this.#replica.store.state.misses) return false;
    return performance.now() - this.#settlingSince < SETTLE_PATIENCE_MS;
  }

  /** Returns whether a message is about the replica's block, or one below it. */
  #isOfOurs(message: AmendmentMessage | SettledMessage): boolean {
    const { height, hashes } = this.#applied;
    return message.block_index < height || (message.block_index === height && isSame(hashes, this.#hashes(message)));
  }

  /** Takes amendments of the replica's block; those of a lower block came again with the blocks above it. */
  async #amend(messages: readonly AmendmentMessage[]): Promise<Outcome | null> {
    const { height } = this.#applied;
    if (!messages.every((message) => this.#isOfOurs(message))) return { kind: 'behind' };
    await this.#writer.amend(messages.filter(({ block_index }) => block_index === height));
    return null;
  }

  /** Returns whether the source is at the replica's height with another block: a reorg without a message. */
  #isOtherTip({ block_height, ...named }: StatusMessage): boolean {
    const { state } = this.#replica.store;
    const { data } = this.#replica;
    const sourceHashes = hashesOf(data.id.dbType, named);
    if (block_height !== state.height || state.hashes === null || blockText(sourceHashes) === null) return false;
    return !sameBlock(sourceHashes, state.hashes);
  }

  /** Compares the roots of waiting groups. No balance tree is begun while a comparison by digests may still repair rows. */
  async #compareRoots(): Promise<void> {
    const { commitment } = this.#replica;
    const { context, state } = this.#replica.store;
    await commitment?.drain();
    if (this.#audit.state !== 'pending') await commitment?.begin(context.schema, state);
  }

  /**
   * Rolls back blocks that the source took back, when the majority of the sources has others in their place. One
   * message leads no further back than the journal: below it, the source is first asked for its status and hashes.
   */
  async #leave(height: number, signal: AbortSignal): Promise<Outcome | null> {
    if (height > this.#replica.store.state.height!) return null;
    if (!(await canUndo(this.#replica, height - 1))) {
      const { url } = this.#replica.sources.client;
      this.#replica.log.warn(
        { block: height, source: url },
        'a reorg reaches below the undo journal: the source is asked for its status and hashes'
      );
      this.#replica.store.toldFork = height - 1;
      await this.#missRows();
      return { kind: 'behind' };
    }
    const own = await ownHashes(this.#replica, height);
    const verdict = own
      ? await this.#sourceQuorum.confirmOwnBlock(height, own, { reported: null, hasBlock: false }, signal)
      : 'other';
    if (verdict === 'unnamed') return { kind: 'behind' };
    if (verdict === 'agreed') {
      await this.#missRows();
      return null;
    }
    return verdict === 'halted' ? { kind: 'halted' } : { kind: 'forked', height: height - 1 };
  }

  /**
   * Notes that rows may be missing: another branch may have blocks with the same hashes and other rows, which are
   * skipped as blocks that are here already.
   */
  async #missRows(): Promise<void> {
    await markMissing(this.#replica);
    this.#audit.scheduleNow();
  }

  /** Asks a quiet source where it stands. @returns whether it has had blocks for long that it does not send */
  async #isKeptBack(signal: AbortSignal): Promise<boolean> {
    const { client: source } = this.#replica.sources;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_LIMIT_MS)]);
    // That it does not answer is told by its stream.
    const status = await source.status(limit).catch(() => null);
    const { height } = this.#applied;
    if (status === null || status.height === null) return false;
    this.#replica.sources.standsAt(status.height);
    const wasUnsent = this.#isUnsent;
    this.#isUnsent = status.height > height;
    if (!wasUnsent || !this.#isUnsent) return false;
    this.#replica.log.warn(
      { height, sourceHeight: status.height },
      `${source.url} has blocks that it does not send: catching up by snapshot`
    );
    return true;
  }

  /** @throws {PlatformError} SOURCE_UNREACHABLE when the others have gone on for long */
  #checkOthers(quietMs: number): void {
    this.#sourceQuorum.sweep();
    this.#sourceQuorum.throwIfLeftBehind(this.#replica.store.state.height!, quietMs);
  }

  /** @returns where it leads when it is not simply the next block */
  async #take(message: BlockMessage, signal: AbortSignal): Promise<Outcome | null> {
    const { block_index: at } = message;
    const group = message.group ?? { first: at, last: at };
    this.#announced = Math.max(at, this.#announced);
    this.#replica.sources.standsAt(this.#announced);
    if (this.#pending.misfit(message, group, this.#applied) !== null) {
      // Its verdict depends on the pending blocks.
      const outcome = await this.#applyReady(signal);
      if (outcome) return outcome;
    }
    const { height } = this.#pending.tip(this.#applied);
    if (at <= height) return (await this.#isOurs(message)) ? null : { kind: 'behind' };
    const misfit = this.#pending.misfit(message, group, this.#applied);
    if (misfit !== null) {
      // A source that went on meanwhile is no fault.
      const level = group.first > height + 1 ? 'debug' : 'warn';
      this.#replica.log[level]({ block: at, height }, `${misfit}: catching up by snapshot`);
      return { kind: 'behind' };
    }
    this.#pending.add(message, group);
    this.#settlingSince = message.settling ? (this.#settlingSince ?? performance.now()) : null;
    return null;
  }

  get #applied(): BlockTip {
    const { height, hashes } = this.#replica.store.state;
    return { height: height!, hashes };
  }

  /** Applies the whole groups, up to one that must not be applied. @returns the outcome of that one */
  async #applyReady(signal: AbortSignal): Promise<Outcome | null> {
    const ready = this.#pending.takeReady();
    const from = Date.now();
    const confirmed: ReadyGroup[] = [];
    let verdict: Verdict = 'agreed';
    for (const each of ready) {
      verdict = await this.#confirm(each, signal);
      if (verdict !== 'agreed') break;
      confirmed.push(each);
    }
    await this.#writer.write(confirmed, from, signal);
    if (verdict === 'halted') return { kind: 'halted' };
    // No live block is applied that no majority named: a catch-up ends at one that it does name.
    if (verdict === 'unnamed') return { kind: 'behind' };
    // What the source sends instead of another block follows; should it not, it is fetched.
    return null;
  }

  async #confirm({ messages }: ReadyGroup, signal: AbortSignal): Promise<Verdict> {
    for (const message of messages) {
      const verdict = await this.#sourceQuorum.confirm(message.block_index, this.#hashes(message), signal);
      if (verdict !== 'agreed') return verdict;
    }
    return 'agreed';
  }

  #hashes(message: BlockMessage | AmendmentMessage | SettledMessage): BlockHashes {
    return hashesOf(this.#replica.data.id.dbType, message);
  }

  /** Returns whether a block that was sent again is the replica's own; with other hashes it is another branch. */
  async #isOurs(message: BlockMessage): Promise<boolean> {
    const own = await ownHashes(this.#replica, message.block_index);
    return own !== null && sameBlock(own, this.#hashes(message));
  }

  /** Records a halt over a connection of its own: dropping the old one undoes the rows that showed the mismatch. */
  async #halt(fault: PlatformError): Promise<Outcome> {
    const { log, commitment } = this.#replica;
    const { client: source } = this.#replica.sources;
    commitment?.forget('a root is not the one of the source');
    try {
      this.#replica.drop(fault);
      await this.#replica.open();
    } catch (caught) {
      log.error({ err: caught }, 'the replica could not be opened to record a halt');
    }
    const { root, height, ours: replicaRoot, theirs: sourceRoot } = fault.detail;
    await this.#replica.halt.raise(
      'state-root-mismatch',
      Number(height),
      { root, height, ours: replicaRoot, theirs: sourceRoot },
      [source.url]
    );
    return { kind: 'halted' };
  }
}
