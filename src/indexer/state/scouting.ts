import { Effects, type Used } from './effects.ts';
import { ABSENT, type FactKey, type Facts, type Kind, Missing } from './facts.ts';
import type { View } from './view.ts';

/** Kinds that may be taken as absent: if such a fact is there, the action reads the same other facts or more. */
const GUESSED: ReadonlySet<Kind> = new Set([
  ...(['addressId', 'awaitedMatches', 'balance', 'gate', 'preferences', 'sleep'] as const)
]);

/**
 * Finds the facts that an action reads, without an effect.
 *
 * If a fact of some kinds is not in memory, the action goes on as if it were absent. So one load brings the facts that
 * the action would otherwise miss one by one.
 */
export class Scouting extends Effects {
  /** Facts that were read and are not in memory. */
  readonly lacking: FactKey[] = [];
  readonly #isBold: boolean;

  /**
   * @param isBold whether a fact of any kind is taken as absent. The action may then read facts that it does not need,
   *   and end with an error.
   */
  constructor(view: View, before: Used, isBold = false) {
    super(view, before);
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
    for (const fact of missing) this.lacking.push(fact);
    if (missing.some(({ kind }) => !this.#isGuessed(kind))) throw new Missing(missing);
  }

  protected override read<K extends Kind>(kind: K, key: string): Facts[K] {
    const found = this.view.find(kind, key);
    if (found !== undefined) return found;
    this.lacking.push({ kind, key });
    if (!this.#isGuessed(kind)) throw new Missing([{ kind, key }]);
    return ABSENT[kind];
  }

  #isGuessed(kind: Kind): boolean {
    return this.#isBold || GUESSED.has(kind);
  }
}
