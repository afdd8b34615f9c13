/** Limits on the work that one action, or one block, may cause for everybody. */
export const LIMITS = ['parts', 'dispenses', 'emptyDispensers', 'blockUnits', 'wholeList', 'blockListRows'] as const;
type LimitName = (typeof LIMITS)[number];

/**
 * Limits of a ledger:
 *
 * - `parts`: recipients, holders, items or offers of one action.
 * - `dispenses`: dispensers that serve one payment.
 * - `emptyDispensers`: empty dispensers that one payment meets; further ones are skipped.
 * - `blockUnits`: actions, movements and parts of a block after which it takes no BATCH and no action with parts.
 * - `wholeList`: members up to which the newest edit of a list keeps all of them, and such members that a block keeps at
 *   least.
 * - `blockListRows`: members that a block keeps of lists that it edits.
 */
export type Limits = Readonly<Record<LimitName, number>>;

/**
 * Limits unless a profile sets others. A full block of honest actions needs a tenth of `blockUnits`; at the limit a
 * block makes at most 500,000 rows.
 */
export const DEFAULT_LIMITS: Limits = {
  parts: 100_000,
  dispenses: 250,
  emptyDispensers: 1,
  blockUnits: 150_000,
  wholeList: 1_000,
  blockListRows: 50_000
};

/** Limits for blocks before the activation height of limits: none. */
export const NO_LIMITS: Limits = Object.fromEntries(
  LIMITS.map((name) => [name, Number.POSITIVE_INFINITY])
) as unknown as Limits;
