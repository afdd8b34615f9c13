import { hasCode, PlatformError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import type { Circuit, ReplicaReport } from '../../wire/state/report.ts';
import type { Question, Reply } from '../question.ts';
import { type DatabaseLook, reasonOf } from './database-watch.ts';
import { MainLine } from './main-line.ts';
import type { Tip } from './tip.ts';

/** Coordinates of one copy of a network's databases. */
export interface DatabasePair {
  readonly indexer: DatabaseCoordinates;
  readonly decoder: DatabaseCoordinates;
}

/** One copy of a network's databases. */
export interface Replica {
  /** Looks at its databases. */
  look(): Promise<DatabaseLook>;
  /** Reads the block of a height of its ledger. */
  blockAt(height: number): Promise<Tip | null>;
  answer(question: Question): Promise<Reply>;
  readonly circuit: Circuit;
}

/** A look at all copies: what is found at the one that serves. */
interface ReplicasLook extends DatabaseLook {
  readonly circuit: Circuit;
  /** One for each copy, where there are several. */
  readonly replicas?: readonly ReplicaReport[];
}

interface Found {
  readonly look: DatabaseLook;
  readonly atLine: Tip | null;
}

interface Member {
  readonly replica: Replica;
  /** Its place in the order of the settings, from 1. */
  readonly place: number;
  looking: Promise<Found> | undefined;
  found: Found | null;
  /** Whether it answered the last look, and every question since. */
  isUp: boolean;
  isForked: boolean;
  /** The newest block that it is known to have. */
  tip: Tip | null;
  /** Reason why it does not answer. */
  fault: string | null;
  /** Questions that it answers now, and all that it was asked. */
  questions: number;
  asked: number;
}

/** A look that takes longer is that of a replica which does not answer. It is longer than the wait for a decoder. */
const LOOK_PATIENCE_MS = 2_000;

/** Faults that are one replica's own: another one is asked, and this one no more before its next look. */
const AWAY = ['DATABASE_UNAVAILABLE', 'DATABASE_REFUSED', 'DATABASE_UNUSABLE'] as const;

const heightOf = ({ tip }: Pick<Member, 'tip'>): number => tip?.height ?? -1;

/**
 * The copies of a network's databases, of which each question is answered by one.
 *
 * A question goes to the least busy of the copies with the newest block. So no answer is older than one before it, while a copy
 * with that block answers. Where a copy fails, another one is asked.
 */
export class Replicas {
  readonly #members: readonly Member[];
  readonly #line = new MainLine<Member>();
  readonly #heightOfCursor: (cursor: string) => number | null;
  readonly #log: Pick<Logger, 'warn' | 'info'>;

  /** @param heightOfCursor returns the block that a cursor was made at */
  constructor(
    replicas: readonly Replica[],
    { heightOfCursor, log }: { heightOfCursor: (cursor: string) => number | null; log: Pick<Logger, 'warn' | 'info'> }
  ) {
    this.#heightOfCursor = heightOfCursor;
    this.#log = log;
    this.#members = replicas.map((replica, at) => ({
      replica,
      place: at + 1,
      looking: undefined,
      found: null,
      isUp: false,
      isForked: false,
      tip: null,
      fault: null,
      questions: 0,
      asked: 0
    }));
  }

  /** @throws {PlatformError} what the copy throws, where no other one answers; DATABASE_UNAVAILABLE where none that may serves it */
  async answer(question: Question): Promise<Reply> {
    const [only, ...others] = this.#members;
    if (others.length === 0) return await only!.replica.answer(question);
    const least = question.cursor === undefined ? -1 : (this.#heightOfCursor(question.cursor) ?? -1);
    const tried = new Set<Member>();
    let older: Reply | null = null;
    let fault: unknown;
    for (let next = this.#choose(tried, least); next; next = this.#choose(tried, least)) {
      tried.add(next);
      const newest = Math.max(-1, ...this.#serving().map((each) => (each === next ? -1 : heightOf(each))));
      try {
        const reply = await this.#ask(next, question);
        if (this.#isNewest(next, reply, newest)) return reply;
        if ((reply.height ?? -1) >= (older?.height ?? -1)) older = reply;
      } catch (caught) {
        const isAway = AWAY.some((code) => hasCode(caught, code));
        if (!isAway && !hasCode(caught, 'TABLE_LACKING')) throw caught;
        if (isAway) this.#lose(next, caught);
        fault ??= caught;
      }
    }
    if (older) return older;
    const isBehind = this.#serving().some((member) => heightOf(member) < least);
    if (fault !== undefined && !isBehind) throw fault;
    throw new PlatformError('DATABASE_UNAVAILABLE', { reason: this.#whyNone(least) }, { cause: fault });
  }

  /** Looks at all copies at once; one that does not answer keeps nobody waiting for long. */
  async look(): Promise<ReplicasLook> {
    const [first, ...others] = this.#members;
    if (others.length === 0) return { ...(await first!.replica.look()), circuit: first!.replica.circuit };
    const { height } = this.#line;
    await Promise.all(this.#members.map((member) => this.#lookAt(member, height)));
    const seen = this.#members.flatMap((member) => {
      const { isUp, tip, found } = member;
      return isUp && tip && found ? [[member, { tip, atLine: found.atLine }] as const] : [];
    });
    this.#tellForks(this.#line.advance(new Map(seen)));
    const replicas = this.#report();
    const [best] = this.#serving().toSorted(byRank);
    const lastError = replicas.find(({ error }) => error !== null)?.error ?? null;
    if (best?.found) return { ...best.found.look, lastError, circuit: best.replica.circuit, replicas };
    const upstream = first!.found?.look.upstream ?? null;
    const nothing = { newest: null, decoderTip: null, isRead: false, upstream };
    return { ...nothing, lastError: lastError ?? 'no copy answers', circuit: first!.replica.circuit, replicas };
  }

  /** Copies that answer and are on the chain that readers are shown. */
  #serving(): Member[] {
    return this.#members.filter(({ isUp, isForked }) => isUp && !isForked);
  }

  /** Chooses a copy that was not asked yet. One that does not answer is asked last: nothing may be known of any. */
  #choose(tried: ReadonlySet<Member>, least: number): Member | undefined {
    const open = this.#members.filter((member) => !tried.has(member) && !member.isForked);
    const isAway = this.#members.some(({ isUp }) => !isUp);
    // Behind a cursor's block a copy would say that a reorg has replaced it. That is true only where all say so.
    const isBehind = (member: Member) => isAway && member.isUp && heightOf(member) < least;
    return open.filter((member) => !isBehind(member)).toSorted(byRank)[0];
  }

  async #ask(member: Member, question: Question): Promise<Reply> {
    member.questions++;
    member.asked++;
    try {
      return await member.replica.answer(question);
    } finally {
      member.questions--;
    }
  }

  /** Returns whether an answer shows what readers have seen. @param newest height of the newest block of the others when it was asked */
  #isNewest(member: Member, { height, mark }: Reply, newest: number): boolean {
    if (height === null || mark === null) return newest < 0;
    if (height < newest) return false;
    const isOther = (each: Member) => each !== member && each.tip?.height === height && each.tip.mark !== mark;
    if (this.#serving().some(isOther)) {
      member.tip = null; // it follows a reorg that the others have not seen; its next look tells
      return false;
    }
    if (height > heightOf(member)) member.tip = { height, mark };
    return true;
  }

  #lose(member: Member, caught: unknown): void {
    member.isUp = false;
    member.fault = reasonOf(caught);
  }

  #whyNone(least: number): string {
    return least < 0
      ? 'no copy of the databases that may serve answers'
      : `the databases that have block ${least}, at which this cursor was made, do not answer: ask again`;
  }

  async #lookAt(member: Member, height: number | null): Promise<void> {
    const isLeft = member.looking !== undefined;
    member.looking ??= find(member.replica, height).finally(() => {
      member.looking = undefined;
    });
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => late.resolve(null), isLeft ? 0 : LOOK_PATIENCE_MS);
    try {
      const found = await Promise.race([member.looking, late.promise]);
      if (found === null) return this.#lose(member, new Error(`no answer within ${LOOK_PATIENCE_MS} ms`));
      member.found = found;
      const isCut = member.replica.circuit === 'open'; // it answers looks, and takes no question yet
      member.isUp = found.look.isRead && !isCut;
      member.tip = found.look.newest;
      member.fault = found.look.lastError ?? (isCut ? 'its circuit breaker is open' : null);
    } catch (caught) {
      this.#lose(member, caught);
    } finally {
      clearTimeout(timer);
    }
  }

  #tellForks(forked: ReadonlySet<Member>): void {
    for (const member of this.#members) {
      const isForked = forked.has(member);
      if (isForked === member.isForked) continue;
      member.isForked = isForked;
      const { place: replica } = member;
      if (isForked) this.#log.warn({ replica }, `copy ${replica} is on another chain than those that serve: not read`);
      else this.#log.info({ replica }, `copy ${replica} is on the chain of the others again`);
    }
  }

  #report(): ReplicaReport[] {
    const newest = Math.max(-1, ...this.#serving().map(heightOf));
    return this.#members.map((member): ReplicaReport => {
      const { isUp, isForked, tip, fault, place } = member;
      const height = tip?.height ?? null;
      const state = !isUp ? 'unavailable' : isForked ? 'forked' : (height ?? -1) < newest ? 'behind' : 'serves';
      const lagBlocks = state === 'unavailable' || height === null ? null : Math.max(0, newest - height);
      const error = isForked ? 'it is on another chain than those that serve' : fault;
      return { state, height, lagBlocks, error: error === null ? null : `copy ${place}: ${error}` };
    });
  }
}

/** Compares two members: first one that answers, then the newest block, then the fewest questions. */
function byRank(a: Member, b: Member): number {
  return Number(b.isUp) - Number(a.isUp) || heightOf(b) - heightOf(a) || a.questions - b.questions || a.asked - b.asked;
}

async function find(replica: Replica, height: number | null): Promise<Found> {
  const look = await replica.look();
  const isAbove = height !== null && look.isRead && (look.newest?.height ?? -1) > height;
  return { look, atLine: isAbove ? await replica.blockAt(height) : null };
}
