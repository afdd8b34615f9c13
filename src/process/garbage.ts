import { setFlagsFromString } from 'node:v8';

/** Garbage of V8's old generation, in percent of what lives, at which it is collected. */
const MOST_PERCENT = 50;

/**
 * Has all threads of this process collect garbage when there is half as much of it as of what lives. V8 by itself waits for several
 * times that: a hundred megabytes for a service that answers strangers.
 */
export function boundGarbage(): void {
  setFlagsFromString(`--heap-growing-percent=${MOST_PERCENT}`);
}
