import { namesUnknownIds } from '../../../src/db/replica/apply/block-message.ts';
import { applyBlocks, type LiveGroup } from '../../../src/db/replica/apply/block-writer.ts';
import { describes } from '../../../src/db/replica/schema.ts';
import { hasCode } from '../../../src/errors.ts';
import { count, recordSpan } from '../../../src/observe/counters.ts';
import { hashesOf } from '../../../src/wire/data/database.ts';
import { type BlockMessage, countRows } from '../../../src/wire/data/messages.ts';
import type { Replica } from '../parts/replica.ts';
import { followSourceSchema } from '../parts/source-schema.ts';
import type { ReplicaAudit } from '../verifying/audit.ts';
import type { ReadyGroup } from './pending-groups.ts';

type Parts = Pick<Replica, 'data' | 'log' | 'store' | 'sources'>;

/** Writes confirmed groups, those of one schema in one transaction. */
export class GroupWriter {
  readonly #replica: Parts;
  readonly #audit: Pick<ReplicaAudit, 'scheduleNow'>;
  /** A message did not bring all that changed, and no comparison has ended since: no later message makes up for it. */
  #mustCompare = false;

  /** @param audit is due where the rows of a group may differ from the source's in ways that no message tells */
  constructor(replica: Parts, audit: Pick<ReplicaAudit, 'scheduleNow'>) {
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

  /** Consecutive groups with the same schema. */
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

  /** A source that does not say which schema its rows have is asked for it when they show another one. */
  #isDescribed({ data, updated_rows }: BlockMessage): boolean {
    const { schema } = this.#replica.store.context;
    return describes(schema, data) && describes(schema, updated_rows);
  }

  async #apply(ready: readonly ReadyGroup[], signal: AbortSignal): Promise<void> {
    const messages = ready.flatMap((each) => each.messages);
    const { schema_fingerprint: fingerprint } = messages[0]!;
    if (fingerprint !== undefined && fingerprint !== this.#replica.store.state.schemaFingerprint) {
      await followSourceSchema(this.#replica, fingerprint, signal);
      // Rows of older blocks may hold other values in columns that are new or changed, and no message says so.
      this.#audit.scheduleNow();
    } else if (fingerprint === undefined && !messages.every((message) => this.#isDescribed(message))) {
      await followSourceSchema(this.#replica, null, signal);
    }
    const { writer, context, state } = this.#replica.store;
    const { client: source } = this.#replica.sources;
    if (messages.some((message) => namesUnknownIds(context.schema, state.ids.own, message))) this.#audit.scheduleNow();
    if (state.complete) this.#mustCompare = false;
    const unsettled = messages.map((message) => message.unsettled);
    if (unsettled.includes('unknown')) this.#mustCompare = true;
    if (unsettled.some((what) => what !== undefined)) this.#audit.scheduleNow();
    const complete = unsettled.at(-1) === undefined && !this.#mustCompare;
    const groups = ready.map(({ group: { first, last }, messages }): LiveGroup => {
      const hashes = hashesOf(this.#replica.data.id.dbType, messages.at(-1)!);
      const target = { first, last, hashes, source: source.url, complete, phase: 'following' } as const;
      return { target, messages };
    });
    try {
      this.#replica.store.setState(await applyBlocks(writer, context, state, groups));
    } catch (caught) {
      if (hasCode(caught, 'ROW_CONTRADICTION')) this.#replica.store.contradicted = true;
      throw caught;
    }
  }
}
