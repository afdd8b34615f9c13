/** Texts with a number each, so that many records can share one. A text stays as long as a record names it. */
export class Texts {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #uses: number[] = [];
  readonly #free: number[] = [];

  /** Returns the number of a text, for one more record. */
  take(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#free.pop() ?? this.#texts.length;
      this.#texts[number] = text;
      this.#uses[number] = 0;
      this.#numbers.set(text, number);
    }
    this.#uses[number]! += 1;
    return number;
  }

  /** Counts one record less that names a text. */
  release(number: number): void {
    this.#uses[number]! -= 1;
    if (this.#uses[number]! > 0) return;
    this.#numbers.delete(this.#texts[number]!);
    this.#texts[number] = '';
    this.#free.push(number);
  }

  /** Returns the number of a text; undefined while no record names it. */
  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** Returns a text by its number. */
  at(number: number): string {
    return this.#texts[number]!;
  }
}
