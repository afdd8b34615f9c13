import type { Batch, Operation } from '../../src/hub/federation/consensus/messages.ts';
import { operationKey } from '../../src/hub/federation/consensus/state.ts';
import { Violation } from './violation.ts';

/** A write from its call to its answer, which is given when its own hub has applied it. */
interface Write {
  readonly key: string;
  readonly calledAt: number;
  answeredAt: number | null;
  /** Its place among all operations of the log. */
  place: number;
}

/** Observations by callers of honest hubs, and a check whether one order of all writes explains them. */
export class History {
  readonly #writes = new Map<string, Write>();
  /** By place of the log, the tables after it. */
  readonly #tables = new Map<number, string>([[0, '']]);
  readonly #places = new Map<string, number>();
  #reads = 0;

  called(operation: Operation, now: number): void {
    const key = operationKey(operation);
    this.#writes.set(key, { key, calledAt: now, answeredAt: null, place: 0 });
  }

  /** Takes a batch that a hub has in its database. */
  applied(hub: string, batch: Batch, tables: string, now: number): void {
    this.#compare(batch.seq, tables);
    for (const [index, operation] of batch.operations.entries()) {
      const key = operationKey(operation);
      this.#places.set(key, batch.seq * 10_000 + index);
      const write = this.#writes.get(key);
      if (write && operation.submitter === hub) write.answeredAt ??= now;
    }
  }

  /** Takes the answer of a hub to a read that waited for a place of the log. */
  read(seq: number, tables: string): void {
    this.#compare(seq, tables);
    this.#reads += 1;
  }

  /** Compares the order of writes with that of their calls. @returns how many answers were compared  @throws {Violation} */
  check(): number {
    const writes = [...this.#writes.values()].map((write) => ({ ...write, place: this.#places.get(write.key)! }));
    const answered = writes.filter(({ answeredAt }) => answeredAt !== null);
    const byCall = writes.toSorted((a, b) => a.calledAt - b.calledAt);
    const byAnswer = answered.toSorted((a, b) => a.answeredAt! - b.answeredAt!);
    let [next, latest] = [0, 0];
    for (const { key, calledAt, place } of byCall) {
      for (; byAnswer[next] && byAnswer[next]!.answeredAt! < calledAt; next++)
        latest = Math.max(latest, byAnswer[next]!.place);
      if (place < latest) throw new Violation(`${key} stands before a write that was answered when it was called`);
    }
    return answered.length + this.#reads;
  }

  #compare(seq: number, tables: string): void {
    const known = this.#tables.get(seq);
    if (known !== undefined && known !== tables) throw new Violation(`two states after place ${seq}`);
    this.#tables.set(seq, tables);
  }
}
