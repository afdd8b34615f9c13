import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, quoteName } from '../../../db/connection.ts';
import { HeldSnapshot } from '../../../db/held-snapshot.ts';
import { namedFault, rethrow, withDeadline } from '../../../db/serial-connection.ts';
import { PlatformError } from '../../../errors.ts';
import type { BlockHashes } from '../../../wire/data/database.ts';
import { DIGEST_ALGORITHM, type DigestKey, type DigestPart, isInPart } from '../../../wire/data/digest.ts';
import type { SourceActorData } from '../../protocol.ts';
import { readTip } from '../../tables/block-hashes.ts';
import { digestPlans, readDigests, type TableDigests } from '../../tables/digest.ts';
import { readLayout, type SourceLayout } from '../../tables/source-layout.ts';
import { hasMoved, readTableFacts, type TableFacts } from '../changes/table-facts.ts';

/** Tips whose passes have good keys; of one tip and part, so many: the newest, and those before something changed in place. */
const KEPT_TIPS = 3;
const KEPT_OF_PART = 4;
/**
 * Later callers share a pass for so long at most, or for so many times as long as it takes, whichever is longer: a table may change
 * without another time, and a pass is the dearest of all answers.
 */
const SHARED = { ms: 60_000, times: 20 };
/** The same of a pass that began when a later change of one of its tables might show the time that it had. */
const SHARED_FRESH = { ms: 10_000, times: 2 };
/** Passes that stay open to be asked, however many parts are asked for. */
const MOST_HELD = 4;
/** Passes that are made at the same time: blocks may come faster than passes end. */
const TOGETHER = 2;
/** Time after its last use for which the snapshot of a pass stays open: a client that found a difference asks for its rows. */
const HELD_MS = 30_000;
/** Pause between two looks whether a change of a table waits for a snapshot that rests, and the seconds of such a look. */
const LOOK_PAUSE_MS = 1_000;
const LOOK_LIMIT_S = 1;
const KEY_BYTES = 16;
const UNMADE = { made: null, tookMs: null, isStale: false };
const CHALLENGES_PER_HOUR = 4;
const HOUR_MS = 3_600_000;

/** The snapshot that digests are read in. */
export interface DigestTip {
  readonly height: number;
  readonly hashes: BlockHashes;
  readonly fingerprint: string;
  /** Reorgs that were broadcast before it. */
  readonly reorgs: number;
  /** Amendments of the block that were broadcast; null: not known. */
  readonly amendments: number | null;
  /** Id of the base that the source learned last; null: none. */
  readonly learned: string | null;
  /** Before the snapshot was opened, by `performance.now()`. */
  readonly readAt: number;
  /** The tables' facts: those of a pass are of before its snapshot, so that a change that is not in it shows. */
  readonly facts: ReadonlyMap<string, TableFacts>;
  /** The tables that digests are made of. */
  readonly compared: ReadonlySet<string>;
}

/** Digests of all tables of a part under one key, made or being made. */
export interface DigestPass {
  readonly part: DigestPart;
  readonly head: DigestKey;
  readonly tip: DigestTip;
  readonly layout: SourceLayout;
  readonly tables: Promise<readonly TableDigests[]>;
  /** Null until they are made. */
  made: readonly TableDigests[] | null;
  /** Milliseconds from the look at the times to their end; null until they are made. */
  tookMs: number | null;
  /** The snapshot that it was made in, as long as it is open: whatever is read there is as the pass says. */
  readonly held: HeldSnapshot;
  /** A table has changed in place since: the next request for a key gets another one. */
  isStale: boolean;
}

/** Returns whether both saw the same branch of the chain and the same schema, and the source knew as much of what it had sent. */
export function isSameTip(a: DigestTip, b: DigestTip): boolean {
  const text = ({ height, hashes, fingerprint, reorgs, amendments, learned }: DigestTip) =>
    JSON.stringify([height, hashes, fingerprint, reorgs, amendments, learned]);
  return text(a) === text(b);
}

/**
 * Returns whether a pass says what a caller would find that saw a tip: as far as times tell, no table of it has changed since it
 * began.
 */
export function isCurrent(pass: Pick<DigestPass, 'part' | 'tip' | 'isStale' | 'tookMs'>, tip: DigestTip): boolean {
  const { part, isStale, tookMs } = pass;
  const { readAt, facts } = pass.tip;
  if (isStale || !isSameTip(pass.tip, tip)) return false;
  if (readAt >= tip.readAt) return true;
  const ageMs = tip.readAt - readAt;
  const covered = [...facts.values()].filter(({ name }) => tip.compared.has(name) && isInPart(part, name));
  const { ms, times } = covered.some(({ isFresh, isNew }) => isFresh || isNew) ? SHARED_FRESH : SHARED;
  if (ageMs > Math.max(ms, times * (tookMs ?? ageMs))) return false;
  return covered.every((before) => {
    const now = tip.facts.get(before.name);
    // A server that opens tables may have forgotten a time. Passes are shared for moments only, so that does not count here.
    return now?.isTimed === true && !hasMoved(before, now);
  });
}

/** The part of the broadcasts on which digests depend. */
export interface TipFeed {
  /** Broadcast reorgs. Digests made before a reorg are void after it, even under the same hashes. */
  readonly reorgs: () => number;
  /** Amendments of a block that were broadcast: digests made before one are void after it. Null: not known. */
  readonly amendments: (height: number) => number | null;
  /** Id of the base that the source learned last: digests made before are void, for what it learned may be another state. Null: none. */
  readonly learned: () => string | null;
}

/** Facts of a tip that are read before its snapshot is opened, and the tables' facts. */
type TipMoment = Pick<DigestTip, 'reorgs' | 'learned' | 'readAt' | 'facts'>;

/** Reads what a tip needs before its snapshot is opened. */
export function momentOf({ reorgs, learned }: TipFeed): Omit<TipMoment, 'facts'> {
  return { reorgs: reorgs(), learned: learned(), readAt: performance.now() };
}

/** Reads schema and tip inside a snapshot. @throws {PlatformError} BLOCKS_EMPTY */
export async function readDigestTip(
  connection: Connection,
  { id, localTables }: Pick<SourceActorData, 'id' | 'localTables'>,
  moment: TipMoment,
  { amendments }: Pick<TipFeed, 'amendments'>
): Promise<{ readonly layout: SourceLayout; readonly tip: DigestTip }> {
  const layout = await readLayout(connection, id.dbType, localTables);
  const tip = layout.heads && (await readTip(connection, layout.heads));
  if (!tip) throw new PlatformError('BLOCKS_EMPTY', { reason: 'No blocks in database' });
  const { height, hashes } = tip;
  const compared = new Set(digestPlans(layout, height).map(({ name }) => name));
  const { fingerprint } = layout;
  return { layout, tip: { ...moment, height, hashes, fingerprint, compared, amendments: amendments(height) } };
}

/**
 * Makes the digests of all tables, or of a part of them, one pass for each tip, shared by all callers, each on a connection of its own.
 *
 * A key is drawn once its snapshot is open: no writer of the rows could know it. It is public at once.
 */
export class DigestPasses {
  readonly #data: Pick<SourceActorData, 'id' | 'localTables'>;
  readonly #open: () => Promise<Connection>;
  readonly #feed: TipFeed;
  /** The last statement of a pass. One at a time: two passes take one core of MariaDB's from the blocks, as one pass does. */
  #statement: Promise<unknown> = Promise.resolve();
  /** Passes under way. */
  readonly #running = new Set<Promise<unknown>>();
  readonly #snapshots = new Set<HeldSnapshot>();
  #kept: DigestPass[] = [];
  /** By part. */
  readonly #starting = new Map<string, Promise<DigestPass>>();
  #isWatched = false;
  #isChallenged = false;
  #challengedAt: number[] = [];

  constructor(data: Pick<SourceActorData, 'id' | 'localTables'>, open: () => Promise<Connection>, feed: TipFeed) {
    this.#data = data;
    this.#open = open;
    this.#feed = feed;
  }

  /** Returns the pass of a tip, or of a later one, when it has begun. */
  async at(tip: DigestTip, part: DigestPart): Promise<DigestPass> {
    const own = this.#isCommon(tip, part) ? part : null;
    const text = JSON.stringify(own);
    const isOfPart = (pass: DigestPass) => pass.part === null || JSON.stringify(pass.part) === text;
    const known = this.#kept.find((pass) => isOfPart(pass) && isCurrent(pass, tip));
    if (known) return known;
    const under = this.#starting.get(text);
    if (under) {
      const pass = await under;
      // It may have begun before what this caller saw.
      return pass.tip.readAt >= tip.readAt || isCurrent(pass, tip) ? pass : this.at(tip, part);
    }
    const starting = this.#start(randomKey, own)
      .then((pass) => {
        this.#keep(pass);
        pass.tables.then(
          () => this.#watch(),
          () => undefined
        );
        return pass;
      })
      .finally(() => this.#starting.delete(text));
    this.#starting.set(text, starting);
    return starting;
  }

  /**
   * Returns whether a pass may serve a part. Of parts that leave tables out each tip has one pass, for the first that was asked
   * for; requests for another get all tables.
   */
  #isCommon(tip: DigestTip, part: DigestPart): boolean {
    if (part === null || 'only' in part) return true;
    const first = this.#kept.find((pass) => pass.part && 'without' in pass.part && isSameTip(pass.tip, tip));
    const starting = [...this.#starting.keys()].find((text) => text.startsWith('{"without"'));
    const known = first ? JSON.stringify(first.part) : starting;
    return known === undefined || known === JSON.stringify(part);
  }

  /** @throws {PlatformError} DIGEST_KEY_UNKNOWN when the key is not kept any more */
  under(key: string): DigestPass {
    const pass = this.#kept.find(({ head }) => head.key === key);
    if (!pass) throw unknownKey();
    return pass;
  }

  /** Begins a pass under a key that the asker chose, for nobody else. @throws {PlatformError} RATE_LIMITED */
  async challenge(key: string): Promise<DigestPass> {
    const now = performance.now();
    this.#challengedAt = this.#challengedAt.filter((at) => now - at < HOUR_MS);
    if (this.#isChallenged || this.#challengedAt.length >= CHALLENGES_PER_HOUR) {
      const reason = `a challenge reads all tables: one at a time and ${CHALLENGES_PER_HOUR} an hour are allowed`;
      throw new PlatformError('RATE_LIMITED', { reason });
    }
    this.#isChallenged = true;
    this.#challengedAt.push(now);
    try {
      const pass = await this.#start(() => key, null);
      await pass.tables;
      pass.held.end();
      return pass;
    } finally {
      this.#isChallenged = false;
    }
  }

  get #resting(): DigestPass[] {
    return this.#kept.filter(({ made, held }) => made && held.isOpen);
  }

  /** Ends the snapshots that rest as soon as somebody waits for a table of theirs: then a statement of another connection waits, too. */
  async #watch(): Promise<void> {
    if (this.#isWatched) return;
    this.#isWatched = true;
    let connection: Connection | undefined;
    try {
      connection = await this.#open();
      await connection.query(`SET SESSION lock_wait_timeout = ${LOOK_LIMIT_S}`);
      for (;;) {
        const tables = new Set(this.#resting.flatMap(({ made }) => made!.map(({ table }) => table)));
        if (tables.size === 0) return;
        await connection.query(
          [...tables].map((table) => `(SELECT 1 FROM ${quoteName(table)} LIMIT 0)`).join(' UNION ALL ')
        );
        await sleep(LOOK_PAUSE_MS, undefined, { ref: false });
      }
    } catch {
      for (const { held } of this.#resting) held.end();
    } finally {
      this.#isWatched = false;
      connection?.destroy();
    }
  }

  /** Ends what is under way. */
  destroy(): void {
    for (const snapshot of this.#snapshots) snapshot.end();
  }

  #keep(pass: DigestPass): void {
    const tips: DigestTip[] = [];
    const ofPart = new Map<string, number>();
    const isGood = ({ tip, part }: DigestPass) => {
      if (!tips.some((each) => isSameTip(each, tip))) tips.push(tip);
      const at = tips.findIndex((each) => isSameTip(each, tip));
      const of = JSON.stringify([at, part]);
      ofPart.set(of, (ofPart.get(of) ?? 0) + 1);
      return at < KEPT_TIPS && ofPart.get(of)! <= KEPT_OF_PART;
    };
    const all = [pass, ...this.#kept];
    this.#kept = all.filter(isGood);
    const open = this.#kept.filter(({ held, made }) => made && held.isOpen);
    for (const each of all) if (each.made && !open.slice(0, MOST_HELD).includes(each)) each.held.end();
    pass.tables.catch(() => {
      this.#kept = this.#kept.filter((each) => each !== pass);
    });
  }

  async #start(drawKey: () => string, part: DigestPart): Promise<DigestPass> {
    while (this.#running.size >= TOGETHER) await Promise.race(this.#running);
    const begun = Promise.withResolvers<DigestPass>();
    const tables = this.#make(drawKey, part, begun.resolve);
    const ended: Promise<unknown> = tables.then(
      () => this.#running.delete(ended),
      () => this.#running.delete(ended)
    );
    this.#running.add(ended);
    tables.catch((caught: unknown) => begun.reject(caught));
    return begun.promise;
  }

  /** Runs the statement of a pass behind those that have asked before it. */
  #inTurn<T>(statement: () => Promise<T>): Promise<T> {
    const run = this.#statement.then(statement, statement);
    this.#statement = run;
    return run;
  }

  /** @param begin is told the pass once its key is drawn */
  async #make(
    drawKey: () => string,
    part: DigestPart,
    begin: (pass: DigestPass) => void
  ): Promise<readonly TableDigests[]> {
    const opened = await this.#open();
    const moment = { ...momentOf(this.#feed), facts: await readFactsOn(opened) };
    const held = new HeldSnapshot(opened, HELD_MS, () => this.#snapshots.delete(held));
    this.#snapshots.add(held);
    return held.use(async (connection) => {
      const { layout, tip } = await readDigestTip(connection, this.#data, moment, this.#feed);
      const { height, hashes, fingerprint } = tip;
      const key = drawKey();
      const head = { block_height: height, ...hashes, fingerprint, algorithm: DIGEST_ALGORITHM, key } as const;
      const made = Promise.withResolvers<readonly TableDigests[]>();
      made.promise.catch(() => undefined);
      const pass: DigestPass = { part, head, tip, tables: made.promise, layout, held, ...UNMADE };
      begin(pass);
      try {
        const inTurn = <T>(statement: () => Promise<T>) => this.#inTurn(statement);
        const covers = (table: string) => isInPart(part, table);
        pass.made = await readDigests(connection, layout, height, key, { covers, inTurn });
        pass.tookMs = performance.now() - tip.readAt;
        made.resolve(pass.made);
        return pass.made;
      } catch (caught) {
        made.reject(namedFault(caught));
        throw caught;
      }
    });
  }
}

/** Reads the tables' facts on a connection that nobody else ends. */
async function readFactsOn(connection: Connection): Promise<ReadonlyMap<string, TableFacts>> {
  try {
    return await readTableFacts(withDeadline(connection));
  } catch (caught) {
    connection.destroy();
    return rethrow(caught);
  }
}

/**
 * Returns the error for a key that is not known, and for a tip that has moved: a read now is of another snapshot than
 * the key's digests.
 */
export function unknownKey(): PlatformError {
  return new PlatformError('DIGEST_KEY_UNKNOWN', { reason: 'the key of these digests has expired' });
}

const randomKey = (): string => randomBytes(KEY_BYTES).toString('hex');
