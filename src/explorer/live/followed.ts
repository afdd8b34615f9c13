import { CROWD_LEVELS } from '../../service/ingress/crowd.ts';
import { nameOf, type Subject } from './advance.ts';

/** Subjects that are followed at once in one network: each is read for each block. */
const MAX_SUBJECTS = 500;

/** The subjects that the clients of one stream follow, in all and by address. It is kept as they come and go. */
export class Followed {
  readonly #most: number;
  readonly #all = new Map<string, { readonly subject: Subject; followers: number }>();
  /** By address, the number of its followers of each subject, by name. */
  readonly #byAddress = new Map<string, Map<string, number>>();

  constructor(most = MAX_SUBJECTS) {
    this.#most = most;
  }

  /** Returns each subject once. */
  get subjects(): Subject[] {
    return [...this.#all.values()].map(({ subject }) => subject);
  }

  /** Counts one follower more. @returns the subject as all its followers share it */
  add(address: string, subject: Subject): Subject {
    const name = nameOf(subject);
    const entry = this.#all.get(name) ?? { subject, followers: 0 };
    entry.followers++;
    this.#all.set(name, entry);
    const own = this.#byAddress.get(address) ?? new Map<string, number>();
    own.set(name, (own.get(name) ?? 0) + 1);
    this.#byAddress.set(address, own);
    return entry.subject;
  }

  /** Counts one follower less. */
  remove(address: string, subject: Subject): void {
    const name = nameOf(subject);
    const entry = this.#all.get(name);
    if (entry && --entry.followers === 0) this.#all.delete(name);
    const own = this.#byAddress.get(address);
    const left = (own?.get(name) ?? 1) - 1;
    if (left > 0) own?.set(name, left);
    else own?.delete(name);
    if (own?.size === 0) this.#byAddress.delete(address);
  }

  /**
   * Finds the address that gives way while all together would follow too much: the one that follows the most of the network that
   * follows the most (IPv6 by 48 bits, then by 32), or of all addresses, where that is more than the asker's would follow.
   *
   * @param more subjects that the asker adds
   * @returns `room` where there is room, null where nobody gives way
   */
  whoGivesWay(address: string, more: readonly Subject[]): 'room' | { readonly address: string } | null {
    const names = [...new Set(more.map(nameOf))];
    const added = names.filter((name) => !this.#all.has(name)).length;
    if (added === 0 || this.#all.size + added <= this.#most) return 'room';
    for (const groupOf of CROWD_LEVELS) {
      const groups = Map.groupBy(this.#byAddress, ([each]) => groupOf(each));
      const followedBy = (group: string) => new Set((groups.get(group) ?? []).flatMap(([, own]) => [...own.keys()]));
      const own = followedBy(groupOf(address)).union(new Set(names)).size;
      const sizes = [...groups.keys()].map((group) => ({ group, size: followedBy(group).size }));
      const largest = sizes.reduce((most, each) => (each.size > most.size ? each : most), { group: '', size: own });
      const [most] = (groups.get(largest.group) ?? []).toSorted(([, a], [, b]) => b.size - a.size);
      if (largest.size > own && most) return { address: most[0] };
    }
    return null;
  }
}
