/** A promise that the simulation saw broken. */
export class Violation extends Error {}
