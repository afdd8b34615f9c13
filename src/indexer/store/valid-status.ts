/** The status id of a valid action: the first one that a database deals. */
export const VALID_STATUS = 1;
