import { join } from 'node:path';

/** Where a service keeps state: root in /var/lib, others where the XDG base directory specification says. */
export function defaultStateDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
  if (process.getuid?.() === 0) return '/var/lib/platform-node';
  // In a container a user may have neither a name nor a home.
  return join(env['XDG_STATE_HOME'] || join(env['HOME'] || '/', '.local', 'state'), 'platform-node');
}
