/** What must never happen has happened. */
export class Violation extends Error {}
