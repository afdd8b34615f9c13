/** What an action, or a block, may cost those who did not ask for it. */
export const LIMITS = ['parts', 'dispenses', 'emptyDispensers', 'blockUnits', 'wholeList', 'blockListRows'] as const;
export type LimitName = (typeof LIMITS)[number];

/**
 * Limits of a ledger:
 *
 * - `parts`: recipients, holders, items or offers that one action may be about.
 * - `dispenses`: dispensers that one payment may be served by.
 * - `emptyDispensers`: dispensers with nothing to give that one payment meets; it passes over further ones.
 * - `blockUnits`: actions, movements and parts of a block after which it takes no BATCH, and nothing that has parts.
 * - `wholeList`: members up to which the newest edit of a list keeps all of them.
 * - `blockListRows`: members that a block keeps of lists that it edits.
 */
export type Limits = Readonly<Record<LimitName, number>>;

/**
 * What holds unless a profile says otherwise. A full block of honest actions needs a tenth of `blockUnits`; with them it makes at
 * most 500,000 rows.
 */
export const DEFAULT_LIMITS: Limits = {
  parts: 100_000,
  dispenses: 250,
  emptyDispensers: 1,
  blockUnits: 150_000,
  wholeList: 10_000,
  blockListRows: 50_000
};

/** What holds in blocks before limits count. */
export const NO_LIMITS: Limits = Object.fromEntries(
  LIMITS.map((name) => [name, Number.POSITIVE_INFINITY])
) as unknown as Limits;
