/** Fields of a DISPENSER after the version, by format: 0 opens, 1 cancels, 2 edits one. */
export const DISPENSER_FORMATS = {
  0: 'GIVE_COIN|GIVE_TICK|GIVE_AMOUNT|GIVE_OWNERSHIP|GIVE_ESCROW|GET_COIN|GET_TICK|GET_AMOUNT|GET_ADDRESS|FIAT_CODE|FIAT_AMOUNT|ORACLE_ADDRESS|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO',
  1: 'DISPENSER_ACTION_INDEX|MEMO',
  2: 'DISPENSER_ACTION_INDEX|GIVE_ESCROW|EXPIRATION|ALLOW_LIST|BLOCK_LIST|MEMO'
} as const;

/** Dispenses after which a dispenser closes, unless it is refilled. */
export const MAX_DISPENSES = 1_000;
/** Most refills of a dispenser. */
export const MAX_REFILLS = 5;
/** Seconds that a dispenser still sells after it was cancelled. */
export const DISPENSER_DELAY_S = 3_600;
/** Seconds that an offer stays open when it names no expiration. */
export const DEFAULT_TERM_S = 90 * 86_400;
