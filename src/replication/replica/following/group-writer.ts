import { hasCode } from '../../../errors.ts';
import { count, recordSpan } from '../../../observe/counters.ts';
import { hashesOf } from '../../../wire/data/database.ts';
import {
  type AmendmentMessage,
  type BlockMessage,
  countRows,
  type SettledMessage
} from '../../../wire/data/messages.ts';
import { namesUnknownIds } from '../apply/block-message.ts';
import { applyAmendments, applyBlocks, type LiveGroup } from '../apply/block-writer.ts';
import { describes } from '../database/schema.ts';
import { type ReplicaState, writeReplicaState } from '../database/state.ts';
import { isOfOther, senderOf } from '../parts/lives.ts';
import type { Replica } from '../parts/replica.ts';
import { followSourceSchema } from '../parts/source-schema.ts';
import type { ReplicaAudit } from '../verifying/audit.ts';
import type { ReadyGroup } from './pending-groups.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources' | 'commitment'>;

/** Writes confirmed groups, those of one schema in one transaction. */
export class GroupWriter {
  readonly #replica: Parts;
  readonly #audit: Pick<ReplicaAudit, 'scheduleNow' | 'scheduleNext' | 'retry' | 'close'>;

  /** @param audit is due where the rows of a group may differ from the source's in ways that no message tells */
  constructor(replica: Parts, audit: Pick<ReplicaAudit, 'scheduleNow' | 'scheduleNext' | 'retry' | 'close'>) {
    this.#replica = replica;
    this.#audit = audit;
  }

  /** @param from when they were complete, for the trace @throws {PlatformError} as `applyBlocks` */
  async write(confirmed: readonly ReadyGroup[], from: number, signal: AbortSignal): Promise<void> {
    let waitedFrom = from;
    for (const groups of this.#bySchema(confirmed)) {
      const began = Date.now();
      await this.#apply(groups, signal);
      this.#note(groups, [waitedFrom, began, Date.now()]);
      waitedFrom = Date.now();
    }
  }

  /** Splits groups into runs of consecutive ones with the same schema. */
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

  /**
   * Returns whether the known schema has all that a message names. If not, and the source does not say which schema its
   * rows have, it is asked.
   */
  #isDescribed({ data, updated_rows }: BlockMessage): boolean {
    const { schema } = this.#replica.store.context;
    return describes(schema, data) && describes(schema, updated_rows);
  }

  async #apply(ready: readonly ReadyGroup[], signal: AbortSignal): Promise<void> {
    const messages = ready.flatMap((each) => each.messages);
    const { schema_fingerprint: fingerprint } = messages[0]!;
    if (fingerprint !== undefined && fingerprint !== this.#replica.store.state.schemaFingerprint) {
      this.#audit.close(); // tables that it reads cannot be altered
      await followSourceSchema(this.#replica, fingerprint, signal);
      // Rows of older blocks may hold other values in columns that are new or changed, and no message says so.
      this.#audit.scheduleNow();
    } else if (fingerprint === undefined && !messages.every((message) => this.#isDescribed(message))) {
      this.#audit.close();
      await followSourceSchema(this.#replica, null, signal);
    }
    const { writer, context, state } = this.#replica.store;
    if (messages.some((message) => namesUnknownIds(context.schema, state.ids.own, message))) this.#audit.scheduleNext();
    const isMissing = this.#misses(messages);
    const misses = state.misses || isMissing;
    const { settling, unsettled } = messages.at(-1)!;
    if (isMissing) this.#audit.scheduleNow();
    // A source without amendments brings the rest with the next block.
    else if (misses || (unsettled !== undefined && !settling)) this.#audit.scheduleNext();
    const complete = !settling && unsettled === undefined && !misses;
    const groups = ready.map(({ group: { first, last }, messages }): LiveGroup => {
      const hashes = hashesOf(this.#replica.data.id.dbType, messages.at(-1)!);
      const target = {
        first,
        last,
        hashes,
        ...senderOf(this.#replica),
        complete,
        phase: 'following',
        amendments: 0,
        misses
      } as const;
      return { target, messages };
    });
    await this.#write(() => applyBlocks(writer, context, state, groups));
  }

  async #write(write: () => Promise<ReplicaState>): Promise<void> {
    try {
      this.#replica.store.setState(await write());
    } catch (caught) {
      if (hasCode(caught, 'ROW_CONTRADICTION')) this.#replica.store.contradicted = true;
      throw caught;
    }
  }

  /**
   * Returns whether rows changed that no message brings: a source says so, it sent amendments that did not arrive here, or another source
   * sent the block before: this one may have read it later, with rows that changed meanwhile.
   */
  #misses(messages: readonly BlockMessage[]): boolean {
    const { complete, amendments } = this.#replica.store.state;
    const { amended_before: sent, schema_fingerprint: fingerprint } = messages[0]!;
    const isLost = !complete && sent != null && sent !== amendments;
    const isOther = fingerprint !== undefined && isOfOther(this.#replica);
    return isLost || isOther || messages.some(({ unsettled }) => unsettled === 'unknown');
  }

  /** Applies amendments of the replica's block, in order and each once. @throws {PlatformError} as `applyBlocks` */
  async amend(messages: readonly AmendmentMessage[]): Promise<void> {
    const { writer, context, state } = this.#replica.store;
    const known = state.amendments ?? 0;
    const isNew = ({ number }: AmendmentMessage, at: number) =>
      messages.slice(0, at).every((before) => before.number < number) && number > known;
    const fresh = messages.filter(isNew);
    const last = fresh.at(-1);
    if (!last) return;
    const from = Date.now();
    const isOtherSchema = fresh.some(({ schema_fingerprint }) => schema_fingerprint !== state.schemaFingerprint);
    const isGap = state.amendments !== null && last.number !== known + fresh.length;
    // Another source numbers other rows so.
    const isOther = isOtherSchema || isOfOther(this.#replica);
    const isMissing = isGap || isOther;
    const misses = state.misses || isMissing;
    if (isMissing) this.#audit.scheduleNow();
    else if (misses || fresh.some((message) => namesUnknownIds(context.schema, state.ids.own, message)))
      this.#audit.scheduleNext();
    const complete = state.complete && !isMissing;
    const after = { complete, amendments: state.amendments === null ? null : last.number, misses };
    const applied = isOther ? [] : fresh;
    await this.#write(() => applyAmendments(writer, context, state, applied, after));
    const rows = applied.reduce((sum, { updated_rows }) => sum + countRows({ data: {}, updated_rows }), 0);
    count('rows.in', rows);
    const facts = { first: state.height!, last: state.height!, rows };
    recordSpan({ name: 'blocks.apply', from, to: Date.now(), facts, parts: [] });
  }

  /** Records that the source has sent everything that changed up to a block. */
  async settle({ block_index: height, amendments, unknown }: SettledMessage): Promise<void> {
    const { writer, state } = this.#replica.store;
    const isOwn = height === state.height;
    if (state.height === null || height > state.height || state.phase !== 'following') return;
    if (isOwn) this.#replica.commitment?.settled(height);
    const isSent = isOwn ? amendments === state.amendments && !isOfOther(this.#replica) : true;
    const isKnown = state.complete || (!unknown && isSent);
    const misses = state.misses || !isKnown;
    if (misses && !state.misses) this.#audit.scheduleNow();
    const complete = state.complete || (isOwn && !misses && amendments !== null);
    const settledHeight = misses ? state.settledHeight : Math.max(height, state.settledHeight ?? -1);
    if (isOwn && state.misses) this.#audit.retry();
    if (misses === state.misses && complete === state.complete && settledHeight === state.settledHeight) return;
    await writeReplicaState(writer, { misses, complete, settledHeight });
    await this.#replica.store.reloadState();
  }
}
