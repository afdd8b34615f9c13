type Step = () => void;

/** A frame at sixty a second; its own callback would never come to a window that is covered. */
const FRAME_MS = 17;

/** Runs the parts of an update one a frame, by turns, so that none of them holds the page up and none is left out for long. */
export class Frames {
  #steps: readonly Step[] = [];
  #turn = 0;
  /** Parts that were not run since the last update. */
  #due = 0;
  #wanted = false;

  /** Schedules an update; it replaces what is left of an earlier one. */
  run(...steps: readonly Step[]): void {
    this.#steps = steps;
    this.#due = steps.length;
    if (!this.#wanted && this.#due > 0) this.#next();
  }

  #next(): void {
    this.#wanted = true;
    setTimeout(() => {
      this.#wanted = false;
      const step = this.#steps[this.#turn++ % this.#steps.length];
      this.#due -= 1;
      if (this.#due > 0) this.#next();
      step?.();
    }, FRAME_MS);
  }
}
