/** Sets whose members change with other facts. */
export type SetKind = 'holders' | 'holdings' | 'owned' | 'voters' | 'delegators';

/** Kinds of facts that have members: sets, and lists that are not in memory. */
type Grouping = SetKind | 'list';

type Groups = Map<string, Set<string>>;

/**
 * Members that changes added to sets, or removed from them, and that may not be in the database yet.
 *
 * They are kept by their sets, so that loading one set costs nothing for what changed in others.
 */
export class Unwritten {
  #changed = new Map<Grouping, Groups>();
  /** Changes before the last `turn`. */
  #taken = new Map<Grouping, Groups>();

  /** Notes that a member of a set changed. */
  add(kind: Grouping, key: string, member: string): void {
    const groups = this.#changed.get(kind) ?? new Map<string, Set<string>>();
    const members = groups.get(key) ?? new Set<string>();
    this.#changed.set(kind, groups);
    groups.set(key, members);
    members.add(member);
  }

  /** Returns the noted members of a set. */
  of(kind: Grouping, key: string): ReadonlySet<string> {
    const [taken, changed] = [this.#taken, this.#changed].map((each) => each.get(kind)?.get(key) ?? NONE);
    return taken!.union(changed!);
  }

  /** Forgets what was noted before the last call: it must be in the database. */
  turn(): void {
    this.#taken = this.#changed;
    this.#changed = new Map();
  }
}

const NONE: ReadonlySet<string> = new Set();
