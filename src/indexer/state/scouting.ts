import { Effects, type Left } from './effects.ts';
import { FactKeys } from './fact-keys.ts';
import { ABSENT, type FactKey, type Facts, type Kind, Missing } from './facts.ts';
import type { View } from './view.ts';

/** Kinds that may be taken as absent: if such a fact is there, the action reads the same other facts or more. */
const GUESSED: ReadonlySet<Kind> = new Set([
  ...(['addressId', 'awaitedMatches', 'balance', 'gate', 'member', 'preferences', 'sleep'] as const)
]);

/** Most facts that one try collects. The rest is found after these are loaded. */
const MOST_FACTS = 200_000;
/** Longest time from the first fact that a try lacks to the last one that it collects. */
const MOST_MS = 1_000;

/**
 * Finds the facts that an action reads, without an effect.
 *
 * If a fact of some kinds is not in memory, the action goes on as if it were absent. So one load brings the facts that
 * the action would otherwise miss one by one. A try ends when it has collected as many as it may, or for as long.
 */
export class Scouting extends Effects {
  /** Facts that were read and are not in memory. */
  readonly lacking = new FactKeys();
  readonly #isBold: boolean;
  /** Time of performance.now() at which no more is collected; undefined before the first fact. */
  #until: number | undefined;

  /**
   * @param isBold whether a fact of any kind is taken as absent. The action may then read facts that it does not need,
   *   and end with an error.
   */
  constructor(view: View, left: Left, isBold = false) {
    super(view, left);
    this.#isBold = isBold;
  }

  /** Tries an action. @throws errors of the action, unless all was taken as absent */
  try(run: (effects: Effects) => unknown): void {
    try {
      run(this);
    } catch (caught) {
      if (!(caught instanceof Missing || this.#isBold)) throw caught;
    }
  }

  override request(keys: readonly FactKey[]): void {
    const missing = this.view.missing(keys);
    for (const fact of missing) this.#collect(fact);
    if (missing.some(({ kind }) => !this.#isGuessed(kind))) throw new Missing(missing);
  }

  /** Returns whether some of these facts have to be loaded, and were not requested yet. */
  override lacks(keys: readonly FactKey[]): boolean {
    return this.view.missing(keys).some((fact) => !this.lacking.has(fact));
  }

  /** Returns as many as the attempt that lacked some. */
  override aheadAt(place: string): number {
    return this.view.aheadAt(place, false);
  }

  protected override read<K extends Kind>(kind: K, key: string): Facts[K] {
    const found = this.view.find(kind, key);
    if (found !== undefined) return found;
    this.#collect({ kind, key });
    if (!this.#isGuessed(kind)) throw new Missing([{ kind, key }]);
    return ABSENT[kind];
  }

  /** Notes a fact that is not in memory. @throws {Missing} when the try ends with it */
  #collect(fact: FactKey): void {
    this.lacking.add(fact);
    const now = performance.now();
    this.#until ??= now + MOST_MS;
    if (this.lacking.size >= MOST_FACTS || now >= this.#until) throw new Missing([fact]);
  }

  #isGuessed(kind: Kind): boolean {
    return this.#isBold || GUESSED.has(kind);
  }
}
