/** Status id of a valid action: the first one that a database assigns. */
export const VALID_STATUS = 1;
