import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../log.ts';
import { findDirectoryFault } from './private-directory.ts';

/** Addresses that are left out of a directory's name: no two services of a machine have one port at them. */
const USUAL_HOSTS = ['0.0.0.0', '127.0.0.1', 'localhost', '::'];

/** Address of a service. */
interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * Returns the directory in which a service keeps what its operators did: below STATE_DIR, of its own by name and port. Makes none:
 * most services have nothing to keep.
 *
 * @returns null where nothing is kept: at a port that differs from start to start, or in a directory that others can write to, which
 *   is logged
 */
export async function findKeptDirectory(
  stateDirectory: string,
  service: string,
  { host, port }: Place,
  log: Pick<Logger, 'warn'>
): Promise<string | null> {
  if (port === 0) return null;
  const words = [service, ...(USUAL_HOSTS.includes(host) ? [] : [host]), port];
  const directory = join(stateDirectory, words.join('-'));
  const fault = existsSync(directory) ? await findDirectoryFault(directory) : null;
  if (fault === null) return directory;
  log.warn(
    `STATE_DIR: ${directory} ${fault}: pauses and the audit log end with the process; correct its owner and mode`
  );
  return null;
}
