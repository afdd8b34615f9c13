import { Effects } from './effects.ts';
import { ABSENT, type FactKey, type Facts, type Kind, Missing } from './facts.ts';

/** What an action reads besides is the same or more when these turn out to be other than absent. */
const GUESSED: ReadonlySet<Kind> = new Set(['addressId', 'balance', 'gate', 'preferences', 'sleep']);

/**
 * Finds out what an action reads, without an effect.
 *
 * Where a fact of some kinds is not in memory, the action goes on as if there were none of it, so that one load brings what it
 * would otherwise meet one by one.
 */
export class Scouting extends Effects {
  /** What was read and is not in memory. */
  readonly lacking: FactKey[] = [];

  override want(keys: readonly FactKey[]): void {
    const missing = this.view.missing(keys);
    for (const fact of missing) this.lacking.push(fact);
    if (missing.some(({ kind }) => !GUESSED.has(kind))) throw new Missing(missing);
  }

  protected override read<K extends Kind>(kind: K, key: string): Facts[K] {
    const found = this.view.find(kind, key);
    if (found !== undefined) return found;
    this.lacking.push({ kind, key });
    if (!GUESSED.has(kind)) throw new Missing([{ kind, key }]);
    return ABSENT[kind];
  }
}
