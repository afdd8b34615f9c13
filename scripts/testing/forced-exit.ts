/** Options that end a file's process once its tests have ended, whatever is still open, with no result lost. */
export const FORCED_EXIT = [
  '--test-force-exit',
  `--import=${new URL('whole-reports.ts', import.meta.url).href}`
] as const;
