/**
 * Returns the name under which one machine of an actor is observed: `circuitBreaker`, or `circuitBreaker (ledger)`
 * where it has several.
 */
export const machineName = (machine: string, instance?: string): string =>
  instance === undefined ? machine : `${machine} (${instance})`;

/** Returns the machine behind an observed name; it is also the name of the chart. */
export const machineOf = (name: string): string => name.split(' (', 1)[0]!;
