import { setTimeout as sleep } from 'node:timers/promises';
import { PlatformError } from '../errors.ts';
import { KeptResult } from '../service/rpc/kept-result.ts';
import type { RpcCaller } from '../service/rpc/method.ts';
import { SharedReads } from '../service/turns/shared-reads.ts';
import { buildTree, isPassword, MASK } from './store/config-tree.ts';
import type { ConfigEnvelope, ConfigMark, ConfigState } from './store/configs.ts';
import type { HubDatabase } from './store/database.ts';

/** Answers that are kept; services ask with the few watermarks that they saw last. */
const MOST_ANSWERS = 16;
/** Bytes of their JSON together: each of them may have the whole configuration. */
const MOST_BYTES = 64 * 2 ** 20;

/**
 * Longest wait for the next look, which begins after the one under way. Services give a hub five seconds, so it ends before them.
 */
const PATIENCE_MS = 4_500;

/** A removal by hand moves neither `seq` nor the watermark: entries are counted again after so long. */
const RECOUNT_MS = 1_000;

/** Longest wait for a write, with the read after it within what services give a hub; and between two looks for it. */
const REACH_MS = 4_000;
const REACH_PAUSE_MS = 50;
/** Callers who wait for a write, with the key or without it: those without it take no place of the others. */
const MOST_WAITING = 200;
/** Callers of one address among them. */
const MOST_OF_ADDRESS = 40;

interface Kept extends ConfigState {
  /** Times of its entries, each once, the newest first. */
  readonly times: readonly number[];
  /** By the oldest time that is in it, and whether passwords are. */
  readonly answers: Map<string, KeptResult<ConfigEnvelope>>;
  countedAt: number;
}

/**
 * The answers of `getallconfigs`, made once for each state of the configuration. Each request asks the database whether a
 * write was committed since; requests that come meanwhile share the next look.
 */
export class KeptConfigs {
  readonly #database: HubDatabase;
  readonly #looks = new SharedReads<Kept>();
  readonly #marks = new SharedReads<ConfigMark>();
  readonly #waiting = new Places(MOST_WAITING);
  readonly #ofAddress = new Places(MOST_OF_ADDRESS);
  #kept: Kept | undefined;

  constructor(database: HubDatabase) {
    this.#database = database;
  }

  /**
   * @param since epoch seconds, inclusive: only what changed then or later
   * @param masked true: MASK stands for each password
   * @throws as the database
   */
  async read(since = 0, masked = false): Promise<KeptResult<ConfigEnvelope>> {
    const { head, entries, times, answers } = await within(
      PATIENCE_MS,
      this.#looks.read('configs', () => this.#look())
    );
    const older = times.findIndex((time) => time < since);
    const name = `${times.at(older < 0 ? -1 : older - 1)} ${older === 0} ${masked}`;
    const kept = answers.get(name);
    if (kept) return kept;
    const changed = entries.filter(({ changedAt }) => changedAt >= since);
    const values = masked
      ? changed.map((entry) => (isPassword(entry.param) ? { ...entry, value: MASK } : entry))
      : changed;
    const answer = new KeptResult({ configs: buildTree(values), ...head });
    let bytes = [...answers.values()].reduce((sum, { json }) => sum + json.length, answer.json.length);
    for (const [oldest, { json }] of answers) {
      if (answers.size < MOST_ANSWERS && bytes <= MOST_BYTES) break;
      answers.delete(oldest);
      bytes -= json.length;
    }
    answers.set(name, answer);
    return answer;
  }

  /**
   * Waits until a write is in the database.
   *
   * @param seq  its number
   * @param caller  who waits
   * @throws {PlatformError} SEQUENCE_NOT_REACHED after four seconds, and at once where too many wait; and as the database
   */
  async reach(seq: number, { address, hasKey }: Pick<RpcCaller, 'address' | 'hasKey'>): Promise<void> {
    const isReached = async () =>
      (
        await within(
          PATIENCE_MS,
          this.#marks.read('mark', () => this.#mark())
        )
      ).seq >= seq;
    if (await isReached()) return;
    const reason = `write ${seq} is not in the database of this hub`;
    const tooMany = () => {
      throw new PlatformError('SEQUENCE_NOT_REACHED', { reason: `${reason}, and too many wait for it` });
    };
    const waited = await this.#ofAddress.take(address, tooMany, () =>
      this.#waiting.take(String(hasKey), tooMany, async () => {
        const since = performance.now();
        do {
          await sleep(REACH_PAUSE_MS);
          if (await isReached()) return true;
        } while (performance.now() - since < REACH_MS);
        return false;
      })
    );
    if (!waited) throw new PlatformError('SEQUENCE_NOT_REACHED', { reason });
  }

  #mark(): Promise<ConfigMark> {
    return this.#database.readOnce('selectConfigMark');
  }

  async #look(): Promise<Kept> {
    if (this.#kept && (await this.#isCurrent(this.#kept))) return this.#kept;
    const state = await this.#database.read('selectConfigState');
    const times = [...new Set(state.entries.map(({ changedAt }) => changedAt))].sort((a, b) => b - a);
    this.#kept = { ...state, times, answers: new Map(), countedAt: performance.now() };
    return this.#kept;
  }

  async #isCurrent(kept: Kept): Promise<boolean> {
    const { seq, watermark } = await this.#mark();
    if (seq !== kept.head.seq || watermark !== kept.head.watermark) return false;
    if (performance.now() - kept.countedAt < RECOUNT_MS) return true;
    kept.countedAt = performance.now();
    return (await this.#database.readOnce('countConfigs')) === kept.head.entries;
  }
}

/** Places of those who wait, some under each name. */
class Places {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Does some work on a place. @param refuse  throws: none is free */
  async take<T>(name: string, refuse: () => never, work: () => Promise<T>): Promise<T> {
    const taken = this.#taken.get(name) ?? 0;
    if (taken >= this.#most) refuse();
    this.#taken.set(name, taken + 1);
    try {
      return await work();
    } finally {
      const left = this.#taken.get(name)! - 1;
      if (left === 0) this.#taken.delete(name);
      else this.#taken.set(name, left);
    }
  }
}

/** @throws {PlatformError} DATABASE_UNAVAILABLE when it takes longer; and what the work throws */
async function within<T>(patienceMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const reason = `no answer within ${patienceMs} ms`;
  const timer = setTimeout(() => late.reject(new PlatformError('DATABASE_UNAVAILABLE', { reason })), patienceMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
