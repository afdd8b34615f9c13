import { join } from 'node:path';

/**
 * Returns the directory for a service's state: in /var/lib for root, for other users by the XDG base directory
 * specification.
 */
export function defaultStateDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (process.getuid?.() === 0) return '/var/lib/platform-node';
  // In a container a user may have neither a name nor a home.
  return join(env['XDG_STATE_HOME'] || join(env['HOME'] || '/', '.local', 'state'), 'platform-node');
}
