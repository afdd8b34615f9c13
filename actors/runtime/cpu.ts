/** Returns CPU of a thread as Node counts it (microseconds), in milliseconds. */
export function cpuMsOf({ user, system }: { readonly user: number; readonly system: number }): number {
  return Math.round((user + system) / 1_000);
}
