import { isSea } from 'node:sea';

/** Command that runs this program again; arguments follow. */
export const SELF: readonly [string, ...string[]] = isSea()
  ? [process.execPath]
  : [process.execPath, ...process.execArgv, process.argv[1] ?? ''];

/**
 * Returns the variables by which a process shares its entries with child processes of this program, so that nothing
 * remains when one is killed. Only the one file has entries that must be written out; only there the code for it is loaded.
 *
 * @throws {PlatformError} TEMP_UNUSABLE
 */
export async function sharedEntries(): Promise<Readonly<Record<string, string>>> {
  if (!isSea()) return {};
  const { makePrivateDirectory, SHARED_DIRECTORY } = await import('./entry-directory.ts');
  return { [SHARED_DIRECTORY]: makePrivateDirectory() };
}
