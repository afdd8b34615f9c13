import { closeMatters, decideMatter, kindOf, type SubmittedStep } from '../../src/hub/federation/matters/decide.ts';
import type { Matter, MatterKind } from '../../src/hub/federation/matters/records.ts';
import {
  BOUNDS,
  isUnderWay,
  KEPT_FOR_MS,
  KEPT_MATTERS,
  type MatterRules,
  REORG_KEPT_MS
} from '../../src/hub/federation/matters/rules.ts';

/** Matters of one hub in memory, as its database keeps them. */
export class MatterBook {
  readonly rules: MatterRules;
  /** Hubs that qualify for statements about chains. */
  qualified: readonly string[];
  readonly #matters = new Map<string, Matter>();

  constructor(rules: MatterRules, qualified: readonly string[]) {
    this.rules = rules;
    this.qualified = qualified;
  }

  get matters(): readonly Matter[] {
    return [...this.#matters.values()];
  }

  /** Closes what is over, then takes a step. @returns why it changes nothing; null: it is done */
  take(submitted: SubmittedStep, time: number): string | null {
    for (const matter of closeMatters(this.matters, time)) this.#put(matter);
    const kind = kindOf(submitted.step);
    const own = this.matters.filter((one) => one.kind === kind && one.submitter === submitted.submitter);
    const since = time - (kind === null ? 0 : BOUNDS[kind].withinMs);
    const facts = {
      matters: this.matters,
      qualified: this.qualified,
      next: Math.max(0, ...this.matters.filter((one) => one.kind === kind).map(({ number }) => number)) + 1,
      open: own.filter((one) => isUnderWay(one, time)).length,
      lately: own.filter(({ begunAt }) => begunAt > since).length
    };
    const changed = decideMatter(this.rules, facts, submitted, time);
    if (typeof changed === 'string') return changed;
    for (const matter of changed) this.#put(matter);
    const begun = changed.find((one) => one.kind === kind && one.number === facts.next);
    if (begun) this.#prune(begun.kind, begun.submitter, time);
    return null;
  }

  /** Finds a matter by its kind and id. */
  find<K extends MatterKind>(kind: K, id: string): Extract<Matter, { kind: K }> | undefined {
    return this.#matters.get(`${kind} ${id}`) as Extract<Matter, { kind: K }> | undefined;
  }

  #put(matter: Matter): void {
    this.#matters.set(`${matter.kind} ${matter.id}`, matter);
  }

  #prune(kind: MatterKind, submitter: string, time: number): void {
    const over = this.matters
      .filter((one) => one.kind === kind && one.submitter === submitter && !isUnderWay(one, time))
      .filter((one) => one.kind !== 'proposal' || one.status !== 'passed')
      .filter((one) => one.kind !== 'reorg' || one.status !== 'confirmed' || one.begunAt <= time - REORG_KEPT_MS)
      .toSorted((a, b) => a.number - b.number);
    const old = over.filter(({ begunAt }) => begunAt <= time - KEPT_FOR_MS);
    for (const { id } of old.slice(0, Math.max(0, over.length - KEPT_MATTERS))) this.#matters.delete(`${kind} ${id}`);
  }
}
