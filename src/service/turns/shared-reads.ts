import { TransientMap } from '../../transient-map.ts';

interface Turn<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Reads with many concurrent callers: one of each is under way, and callers that arrive meanwhile share the next. What anybody
 * gets was read after it asked.
 */
export class SharedReads<T> {
  readonly #turns = new TransientMap<string, Turn<T>>();

  /** @param key equal keys may share a read. @throws what the read throws */
  read(key: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.get(key);
    if (!turn) return this.#begin(key, work);
    const begin = () => this.#begin(key, work);
    turn.next ??= turn.running.then(begin, begin);
    return turn.next;
  }

  #begin(key: string, work: () => Promise<T>): Promise<T> {
    const turn: Turn<T> = { running: work(), next: undefined };
    this.#turns.set(key, turn);
    const end = () => {
      if (turn.next === undefined) this.#turns.delete(key);
    };
    turn.running.then(end, end);
    return turn.running;
  }
}
