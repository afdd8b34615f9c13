import fc from 'fast-check';

/** Source of decisions for a generator of texts. */
export interface Dice {
  /** Both bounds included. */
  between(min: number, max: number): number;
  /** True once in so many throws. */
  oneIn(times: number): boolean;
  pick<T>(items: readonly T[]): T;
}

/** Texts of a function that writes them, several times as fast as a grammar of combinators; they shrink by leaving parts out. */
export class TextArbitrary extends fc.Arbitrary<string> {
  readonly #write: (dice: Dice) => string;

  constructor(write: (dice: Dice) => string) {
    super();
    this.#write = write;
  }

  override generate(random: fc.Random): fc.Value<string> {
    const between = (min: number, max: number) => random.nextInt(min, max);
    const oneIn = (times: number) => between(1, times) === 1;
    return new fc.Value(
      this.#write({ between, oneIn, pick: (items) => items[between(0, items.length - 1)]! }),
      undefined
    );
  }

  override canShrinkWithoutContext(value: unknown): value is string {
    return typeof value === 'string';
  }

  override shrink(text: string): fc.Stream<fc.Value<string>> {
    function* smaller() {
      for (let length = text.length >> 1; length > 0; length >>= 1)
        for (let from = 0; from < text.length; from += length)
          yield new fc.Value(text.slice(0, from) + text.slice(from + length), undefined);
    }
    return fc.stream(smaller());
  }
}
