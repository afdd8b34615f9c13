import type { Connection } from '../../../db/connection.ts';
import { inSnapshot } from '../../../db/in-snapshot.ts';
import { SerialConnection } from '../../../db/serial-connection.ts';
import { PlatformError } from '../../../errors.ts';
import {
  type DatabaseDigest,
  type DigestPart,
  type DigestQuery,
  isOfPass,
  type RangeRows,
  type TableRanges
} from '../../../wire/data/digest.ts';
import type { SourceActorData } from '../../protocol.ts';
import { digestPlans, readRangeRows, readRanges, sumOf, wholeTable } from '../../tables/digest.ts';
import type { SourceLayout } from '../../tables/source-layout.ts';
import { readTableFacts } from '../changes/table-facts.ts';
import {
  type DigestPass,
  DigestPasses,
  type DigestTip,
  isSameTip,
  momentOf,
  readDigestTip,
  type TipFeed,
  unknownKey
} from './digest-passes.ts';

/** Questions to the feed. */
interface DigestFeed extends TipFeed {
  /** Whether a table still equals what was broadcast of it. */
  readonly isSettled: SettledCheck;
}

type SettledCheck = (connection: Connection, layout: SourceLayout, table: string, tip: DigestTip) => Promise<boolean>;

/** A query of one table. */
type TableQuery = DigestQuery & { readonly table: string };

/**
 * Answers what clients ask of digests, one after the other, on a connection of its own that lasts as long as someone waits:
 * polling is not delayed by it, nor by the passes over all tables.
 *
 * Tables may change in place between two blocks: who asks for a key gets a pass that began before only while the tables' times stand
 * still, and none of which a table or a range turned out to hold other rows than it says.
 */
export class SourceDigests {
  readonly #data: Pick<SourceActorData, 'id' | 'localTables'>;
  readonly #serial: SerialConnection;
  readonly #passes: DigestPasses;
  readonly #feed: DigestFeed;
  #waiting = 0;

  constructor(data: Pick<SourceActorData, 'id' | 'localTables'>, open: () => Promise<Connection>, feed: DigestFeed) {
    this.#data = data;
    this.#serial = new SerialConnection(open);
    this.#passes = new DigestPasses(data, open, feed);
    this.#feed = feed;
  }

  /**
   * Returns the tip and the key under which the digests of a part are being made.
   *
   * @returns the answer's body.
   * @throws {PlatformError} BLOCKS_EMPTY
   */
  async key(part: DigestPart = null): Promise<string> {
    return JSON.stringify((await this.#current(part)).head);
  }

  /** @returns the answer's body. @throws {PlatformError} BLOCKS_EMPTY, REQUEST_INVALID, RANGE_TOO_LARGE, DIGEST_KEY_UNKNOWN */
  async read(query: DigestQuery): Promise<string> {
    const { table, key } = query;
    if (table === null) return textOf(key === undefined ? await this.#current() : this.#passes.under(key));
    if (key === undefined) throw new PlatformError('REQUEST_INVALID', { reason: 'a table needs a key' });
    if (isOfPass(query)) return JSON.stringify(await rangesOf(this.#passes.under(key), table));
    const asked = { ...query, table };
    const answer = await this.#look(async (connection, layout, tip) => {
      const pass = this.#passes.under(key);
      return isSameTip(pass.tip, tip) ? this.#answer(connection, layout, pass, asked) : null;
    });
    return JSON.stringify(answer ?? (await this.#answerAsOf(this.#passes.under(key), asked)));
  }

  /**
   * Answers from a pass's own snapshot, as long as that is open, because the tip has moved since.
   *
   * @throws {PlatformError} DIGEST_KEY_UNKNOWN
   */
  async #answerAsOf(pass: DigestPass, query: TableQuery): Promise<TableRanges | RangeRows> {
    const { reorgs, amendments, height, learned } = pass.tip;
    const isOfBranch = reorgs === this.#feed.reorgs() && amendments === this.#feed.amendments(height);
    const isValid = isOfBranch && learned === this.#feed.learned();
    if (!isValid || !pass.held.isOpen) throw unknownKey();
    return pass.held.use((connection) => this.#answer(connection, pass.layout, pass, query));
  }

  /** Digests of all tables under the asker's key. @returns the answer's body. @throws {PlatformError} BLOCKS_EMPTY, RATE_LIMITED */
  async challenge(key: string): Promise<string> {
    return textOf(await this.#passes.challenge(key));
  }

  /** Ends what is under way. */
  destroy(): void {
    this.#serial.destroy();
    this.#passes.destroy();
  }

  async #current(part: DigestPart = null): Promise<DigestPass> {
    const tip = await this.#look(async (_connection, layout, found) => {
      const isOne = part !== null && 'only' in part;
      if (isOne && !digestPlans(layout, found.height).some(({ name }) => name === part.only))
        throw notCompared(part.only);
      return found;
    });
    return this.#passes.at(tip, part);
  }

  async #look<T>(work: (connection: Connection, layout: SourceLayout, tip: DigestTip) => Promise<T>): Promise<T> {
    this.#waiting++;
    try {
      return await this.#serial.use((connection) => {
        const moment = momentOf(this.#feed);
        return inSnapshot(connection, async () => {
          const facts = await readTableFacts(connection);
          const { layout, tip } = await readDigestTip(connection, this.#data, { ...moment, facts }, this.#feed);
          return work(connection, layout, tip);
        });
      });
    } finally {
      if (--this.#waiting === 0) this.#serial.destroy();
    }
  }

  async #answer(
    connection: Connection,
    layout: SourceLayout,
    pass: DigestPass,
    query: TableQuery
  ): Promise<TableRanges | RangeRows> {
    const { head, tip } = pass;
    const { key } = head;
    const { ids: withIds = true } = query;
    const compared = digestPlans(layout, tip.height).find(({ name }) => name === query.table);
    if (!compared) throw notCompared(query.table);
    const plan = { ...compared, withIds };
    // A pass is made with ids.
    const made = withIds ? madeOf(pass, plan.name) : undefined;
    const whole = wholeTable(plan);
    if (query.range === null) {
      const ranges = await readRanges(connection, layout.tables, plan, whole, key);
      const sums = sumOf(ranges);
      const isSaid = isAsSaid(pass, made?.digest, sums.digest);
      const isSettled = () => this.#feed.isSettled(connection, layout, plan.name, tip);
      const settled = query.settled ? { settled: (await isSettled()) && isSaid } : {};
      return { ...head, table: plan.name, ...settled, ...sums, ranges: [...ranges] };
    }
    const { from, to, block } = query.range;
    if (from > to || (block ?? to) > whole.to || (block !== null && plan.class !== 'scoped')) {
      throw new PlatformError('REQUEST_INVALID', { reason: `${plan.name} has no such range` });
    }
    const sent = block === null ? made?.ranges.find((range) => range.from === from && range.to === to) : undefined;
    if (query.rows) {
      const { rows, digest } = await readRangeRows(connection, layout.tables, plan, query.range, key);
      isAsSaid(pass, sent?.digest, digest);
      return { ...head, table: plan.name, rows: rows.length, digest, data: rows };
    }
    const ranges = await readRanges(connection, layout.tables, plan, query.range, key);
    isAsSaid(pass, sent?.digest, sumOf(ranges).digest);
    return { ...head, table: plan.name, ...sumOf(ranges), ranges };
  }
}

const madeOf = ({ made }: DigestPass, name: string) => made?.find(({ table }) => table === name);

/**
 * Returns the ranges of a whole table as the pass read them, whatever the source's tip is by now.
 *
 * @throws {PlatformError} REQUEST_INVALID
 */
async function rangesOf({ head, tables }: DigestPass, table: string): Promise<TableRanges> {
  const made = (await tables).find((each) => each.table === table);
  if (!made) throw notCompared(table);
  return { ...head, table, ...sumOf(made.ranges), ranges: [...made.ranges] };
}

function notCompared(table: string): PlatformError {
  return new PlatformError('REQUEST_INVALID', { reason: `table ${table} is not part of the comparison` });
}

async function textOf({ head, tables }: DigestPass): Promise<string> {
  const sums = (await tables).map(({ ranges: _, ...table }) => table);
  return JSON.stringify({ ...head, tables: sums } satisfies DatabaseDigest);
}

/** @returns false when a pass no longer describes the table: it is stale from now on */
function isAsSaid(pass: DigestPass, sent: string | undefined, found: string): boolean {
  const isSaid = sent === undefined || sent === found;
  if (!isSaid) pass.isStale = true;
  return isSaid;
}
