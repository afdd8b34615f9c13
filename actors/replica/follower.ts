import type { Outcome } from '../../machines/sync/replica.ts';
import { namesUnknownIds } from '../../src/db/replica/block-message.ts';
import { applyBlocks, type LiveGroup, MOST_GROUPS } from '../../src/db/replica/block-writer.ts';
import { describes } from '../../src/db/replica/schema.ts';
import { hasCode, type PlatformError } from '../../src/errors.ts';
import { count, recordSpan } from '../../src/observe/counters.ts';
import { type BlockHashes, blockText, hashesOf, sameBlock } from '../../src/wire/database.ts';
import {
  type BlockMessage,
  countRows,
  type Group,
  previousHashes,
  type StatusMessage
} from '../../src/wire/messages.ts';
import type { ReplicaAudit } from './audit.ts';
import type { ReplicaChain } from './chain.ts';
import type { ReplicaCheckpoints } from './checkpoints.ts';
import type { ReplicaDispensers } from './dispensers.ts';
import type { ReplicaIndexMap } from './index-map.ts';
import type { Replica } from './replica.ts';
import type { SourceQuorum, Verdict } from './source-quorum.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources' | 'stream' | 'halt' | 'commitment' | 'open' | 'drop'>;

const WAIT_MS = 1_000;
/** Waits in a row after which a group that has begun counts as broken off. */
const GROUP_PATIENCE = 15;
/** Blocks of one group that wait for its last; a larger backlog is fetched as a snapshot. */
const MAX_GROUP_BLOCKS = 5_000;
/** Whole groups wait for what is behind them while they have fewer blocks, and it is no longer than this. */
const MOST_READY_BLOCKS = 64;
const MOST_NEXT_BYTES = 256 * 1024;

/** A whole group that waits for those behind it. */
interface ReadyGroup {
  readonly group: Group;
  readonly messages: readonly BlockMessage[];
}

/** Applies live blocks, group by group, as long as each follows the one before; groups that wait together go in one transaction. */
export class ReplicaFollower {
  readonly #replica: Parts;
  readonly #chain: ReplicaChain;
  readonly #audit: ReplicaAudit;
  readonly #sourceQuorum: SourceQuorum;
  readonly #dispensers: ReplicaDispensers;
  readonly #checkpoints: ReplicaCheckpoints;
  readonly #indexMap: ReplicaIndexMap;
  /** The one that has begun. */
  #group: BlockMessage[] = [];
  /** Whole groups, the next ones of the replica. None is left here while no message waits. */
  #ready: ReadyGroup[] = [];
  /** The highest block that the stream has told of; it may have been passed over for not following the one before. */
  #announced = -1;

  constructor(
    replica: Parts,
    {
      chain,
      audit,
      sourceQuorum,
      dispensers,
      checkpoints,
      indexMap
    }: {
      readonly chain: ReplicaChain;
      readonly audit: ReplicaAudit;
      readonly sourceQuorum: SourceQuorum;
      readonly dispensers: ReplicaDispensers;
      readonly checkpoints: ReplicaCheckpoints;
      readonly indexMap: ReplicaIndexMap;
    }
  ) {
    this.#replica = replica;
    this.#chain = chain;
    this.#audit = audit;
    this.#sourceQuorum = sourceQuorum;
    this.#dispensers = dispensers;
    this.#checkpoints = checkpoints;
    this.#indexMap = indexMap;
  }

  /**
   * Ends when something else than the next block comes, when it is at rest and a comparison is due, or when it is told to stop,
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

  /** The stored tip is not the block that the next one follows; its writer is gone, and the catch-up finds the fork. */
  async #goBack(fault: PlatformError): Promise<Outcome> {
    this.#replica.log.warn({ err: fault }, `${fault.message}: catching up by snapshot`);
    this.#replica.drop(fault);
    await this.#replica.open();
    return { kind: 'behind' };
  }

  async #follow(signal: AbortSignal): Promise<Outcome> {
    const subscription = await this.#replica.stream.subscription();
    this.#group = [];
    this.#ready = [];
    for (let idle = 0; !signal.aborted; idle++) {
      const isBetween = this.#group.length === 0 && this.#ready.length === 0;
      const atRest = isBetween && subscription.waiting === 0;
      this.#indexMap.check();
      const contradicted = isBetween ? await this.#checkpoints.check() : null;
      if (contradicted) return contradicted;
      if (atRest) await this.#compareRoots();
      if (atRest && this.#audit.isDueAtRest()) return { kind: 'due' };
      if (atRest && this.#dispensers.isDue) await this.#dispensers.replace(signal);
      const message = await subscription.next(WAIT_MS, signal);
      if (message === null) {
        this.#checkOthers(idle * WAIT_MS);
        const patience = this.#group.length === 0 ? 1 : GROUP_PATIENCE;
        if (this.#announced > this.#replica.store.state.height! && idle >= patience) return { kind: 'behind' };
        continue;
      }
      idle = 0;
      if (message.type !== 'block') {
        const outcome = await this.#applyReady(signal);
        if (outcome) return outcome;
      }
      switch (message.type) {
        case 'status':
          this.#replica.sources.standsAt(message.block_height);
          this.#announced = message.block_height ?? -1;
          if (this.#group.length === 0 && this.#isOtherTip(message)) return { kind: 'behind' };
          break;
        case 'reorg': {
          this.#announced = message.block_index - 1;
          const outcome = await this.#leave(message.block_index, signal);
          if (outcome) return outcome;
          this.#group = this.#group.filter(({ block_index }) => block_index < message.block_index);
          break;
        }
        case 'block': {
          const outcome = await this.#take(message, signal);
          if (outcome) return outcome;
        }
      }
      if (this.#ready.length > 0 && this.#isTime(subscription.nextBytes)) {
        const outcome = await this.#applyReady(signal);
        if (outcome) return outcome;
      }
    }
    return { kind: 'done' };
  }

  /** The source stands where the replica does, at another block: a reorg that no message told of. */
  #isOtherTip({ block_height, ...named }: StatusMessage): boolean {
    const { state } = this.#replica.store;
    const { data } = this.#replica;
    const theirs = hashesOf(data.id.dbType, named);
    if (block_height !== state.height || state.hashes === null || blockText(theirs) === null) return false;
    return !sameBlock(theirs, state.hashes);
  }

  /** No tree is made of rows of which a comparison by digests may still repair some. */
  async #compareRoots(): Promise<void> {
    const { commitment } = this.#replica;
    const { context, state } = this.#replica.store;
    await commitment?.drain();
    if (this.#audit.state !== 'pending') await commitment?.begin(context.schema, state);
  }

  /** Blocks of the replica that its source took back go when the majority of the sources has others in their place. */
  async #leave(height: number, signal: AbortSignal): Promise<Outcome | null> {
    if (height > this.#replica.store.state.height!) return null;
    const own = await this.#chain.ownHashes(height);
    const verdict = own
      ? await this.#sourceQuorum.confirmOwnBlock(height, own, { said: null, hasBlock: false }, signal)
      : 'other';
    if (verdict === 'untold') return { kind: 'behind' };
    if (verdict === 'agreed') {
      // Another branch may have blocks with the same hashes and other rows; as blocks that are here already they are passed over.
      this.#audit.scheduleNow();
      return null;
    }
    return verdict === 'halted' ? { kind: 'halted' } : { kind: 'forked', height: height - 1 };
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
    if (this.#misfit(message, group) !== null) {
      // What is to be said of it depends on what is here.
      const outcome = await this.#applyReady(signal);
      if (outcome) return outcome;
    }
    const { height } = this.#tip;
    if (at <= height) return (await this.#isOurs(message)) ? null : { kind: 'behind' };
    const misfit = this.#misfit(message, group);
    if (misfit !== null) {
      // A source that went on meanwhile is no fault.
      const level = group.first > height + 1 ? 'debug' : 'warn';
      this.#replica.log[level]({ block: at, height }, `${misfit}: catching up by snapshot`);
      return { kind: 'behind' };
    }
    this.#group.push(message);
    if (at === group.last) {
      this.#ready.push({ group, messages: this.#group });
      this.#group = [];
    }
    return null;
  }

  /** Whether whole groups go into the database now, and do not wait for the message that comes next. */
  #isTime(nextBytes: number | null): boolean {
    const blocks = this.#ready.reduce((sum, { messages }) => sum + messages.length, 0);
    const isFull = this.#ready.length >= MOST_GROUPS || blocks >= MOST_READY_BLOCKS;
    return isFull || nextBytes === null || nextBytes > MOST_NEXT_BYTES;
  }

  /** The block that the next group follows. */
  get #tip(): { readonly height: number; readonly hashes: BlockHashes | null } {
    const last = this.#ready.at(-1)?.messages.at(-1);
    if (last) return { height: last.block_index, hashes: this.#hashes(last) };
    const { height, hashes } = this.#replica.store.state;
    return { height: height!, hashes };
  }

  /** Applies the whole groups, up to one that is not to be. @returns where that one leads */
  async #applyReady(signal: AbortSignal): Promise<Outcome | null> {
    const ready = this.#ready;
    this.#ready = [];
    let from = Date.now();
    const confirmed: ReadyGroup[] = [];
    let verdict: Verdict = 'agreed';
    for (const each of ready) {
      verdict = await this.#confirm(each, signal);
      if (verdict !== 'agreed') break;
      confirmed.push(each);
    }
    for (const groups of this.#bySchema(confirmed)) {
      const began = Date.now();
      await this.#apply(groups, signal);
      this.#note(groups, [from, began, Date.now()]);
      from = Date.now();
    }
    if (verdict === 'halted') return { kind: 'halted' };
    // No live block is applied that no majority named: a catch-up ends at one that it does name.
    if (verdict === 'untold') return { kind: 'behind' };
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

  /** Neighbours of which one schema says what their rows are. */
  #bySchema(list: readonly ReadyGroup[]): ReadyGroup[][] {
    const parts: ReadyGroup[][] = [];
    for (const each of list) {
      const before = parts.at(-1)?.at(-1);
      if (before && this.#isOfOneSchema(before, each)) parts.at(-1)!.push(each);
      else parts.push([each]);
    }
    return parts;
  }

  #isOfOneSchema(...pair: readonly [ReadyGroup, ReadyGroup]): boolean {
    const [one, other] = pair.map(({ messages }) => messages.at(-1)!.schema_fingerprint);
    if (one !== other) return false;
    return one !== undefined || pair.every(({ messages }) => messages.every((message) => this.#isDescribed(message)));
  }

  #note(groups: readonly ReadyGroup[], [from, confirmed, to]: readonly [number, number, number]) {
    const rows = groups.flatMap(({ messages }) => messages).reduce((sum, message) => sum + countRows(message), 0);
    const [{ first }, { last }] = [groups[0]!.group, groups.at(-1)!.group];
    count('rows.in', rows);
    const parts = [
      { name: 'blocks.confirm', from, to: confirmed },
      { name: 'blocks.write', from: confirmed, to }
    ];
    recordSpan({ name: 'blocks.apply', from, to, facts: { first, last, rows }, parts });
  }

  /** Why a block cannot be applied after what is here; null when it can. */
  #misfit(message: BlockMessage, group: Group): string | null {
    const { height, hashes } = this.#tip;
    const { block_index: at } = message;
    const before = this.#group.at(-1);
    if (group.first !== height + 1) return `blocks ${group.first} to ${group.last} do not follow the replica's`;
    if (at !== (before?.block_index ?? height) + 1 || at > group.last) return `block ${at} does not follow`;
    if (this.#group.length >= MAX_GROUP_BLOCKS) return `more than ${MAX_GROUP_BLOCKS} blocks in one group`;
    const previous = previousHashes(message);
    const own = before ? this.#hashes(before) : hashes;
    if (previous && own && !sameBlock(previous, own)) return `hash chain discontinuity at block ${at}`;
    return null;
  }

  #hashes(message: BlockMessage): BlockHashes {
    return hashesOf(this.#replica.data.id.dbType, message);
  }

  /** A block that is here already was sent again; with other hashes it is another branch. */
  async #isOurs(message: BlockMessage): Promise<boolean> {
    const own = await this.#chain.ownHashes(message.block_index);
    return own !== null && sameBlock(own, this.#hashes(message));
  }

  /** A source that does not say which schema its rows have is asked for it when they show another one. */
  #isDescribed({ data, updated_rows }: BlockMessage): boolean {
    const { schema } = this.#replica.store.context;
    return describes(schema, data) && describes(schema, updated_rows);
  }

  async #apply(ready: readonly ReadyGroup[], signal: AbortSignal): Promise<void> {
    const messages = ready.flatMap((each) => each.messages);
    const { schema_fingerprint: fingerprint } = messages[0]!;
    if (fingerprint !== undefined && fingerprint !== this.#replica.store.state.schemaFingerprint) {
      await this.#chain.followSchema(fingerprint, signal);
      // Rows of older blocks may hold other values in columns that are new or changed, and no message says so.
      this.#audit.scheduleNow();
    } else if (fingerprint === undefined && !messages.every((message) => this.#isDescribed(message))) {
      await this.#chain.followSchema(null, signal);
    }
    const { writer, context, state } = this.#replica.store;
    const { client: source } = this.#replica.sources;
    if (messages.some((message) => namesUnknownIds(context.schema, state.ids.own, message))) this.#audit.scheduleNow();
    const groups = ready.map(({ group: { first, last }, messages }): LiveGroup => {
      const hashes = this.#hashes(messages.at(-1)!);
      const target = { first, last, hashes, source: source.url, complete: true, phase: 'following' } as const;
      return { target, messages };
    });
    try {
      this.#replica.store.setState(await applyBlocks(writer, context, state, groups));
    } catch (caught) {
      if (hasCode(caught, 'ROW_CONTRADICTION')) this.#replica.store.contradicted = true;
      throw caught;
    }
  }

  /** What the mismatch was found in is undone with its connection; the halt needs another one. */
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
    const { root, height, ours, theirs } = fault.detail;
    await this.#replica.halt.raise('state-root-mismatch', Number(height), { root, height, ours, theirs }, [source.url]);
    return { kind: 'halted' };
  }
}
