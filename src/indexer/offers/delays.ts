/** Seconds from the cancel of a dispenser to its end; edits of its lists wait as long. */
export const DISPENSER_DELAY_S = 3_600;
