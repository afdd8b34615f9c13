import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PlatformError } from '../errors.ts';

/**
 * Returns the path of an installed program: on PATH, else in one of the usual places. @throws {PlatformError}
 * PREREQUISITE_MISSING
 */
export function findProgram(name: string, paths: readonly string[]): string {
  const onPath = (process.env['PATH'] ?? '').split(':').map((directory) => join(directory, name));
  const found = [...onPath, ...paths].find((path) => existsSync(path));
  if (!found) throw new PlatformError('PREREQUISITE_MISSING', { reason: `${name} is not installed` });
  return found;
}
