/** Fields of a DISPENSER after the version, by format: it opens one, cancels one, edits one. */
export const DISPENSER_FORMATS = {
  0: 'GIVE_COIN|GIVE_TICK|GIVE_AMOUNT|GIVE_OWNERSHIP|GIVE_ESCROW|GET_COIN|GET_TICK|GET_AMOUNT|GET_ADDRESS|FIAT_CODE|FIAT_AMOUNT|ORACLE_ADDRESS|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO',
  1: 'DISPENSER_ACTION_INDEX|MEMO',
  2: 'DISPENSER_ACTION_INDEX|GIVE_ESCROW|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO'
} as const;

/** Dispenses after which a dispenser is closed, unless it was refilled. */
export const MAX_DISPENSES = 1_000;
/** How often a dispenser may be refilled. */
export const MAX_REFILLS = 5;
/** For how long a dispenser sells after it was cancelled, in seconds. */
export const DISPENSER_DELAY_S = 3_600;
/** For how long an offer is open that does not say it, in seconds. */
export const DEFAULT_TERM_S = 90 * 86_400;
