import { PlatformError } from '../errors.ts';
import { compareDatabases } from '../verify/compare.ts';
import { renderVerdict } from '../verify/report.ts';
import type { Command } from './command.ts';
import { readNumber, readOptions } from './options.ts';

const MAX_LISTED_ROWS = 100_000;

/** `platform-node verify`: the independent check of a replica. Exit code 0 equal, 1 different, 64 wrong usage, 69 unreachable. */
export const verifyCommand: Command = {
  name: 'verify',
  summary: 'compares a replica with its source, row by row',
  options: [
    '--source <url>   mysql://user:pass@host:port/database, or mysql://user:pass@localhost/database?socket=/path',
    '--replica <url>  the same for the replica',
    '--table <name>   compare only this table',
    '--local <a,b>    further tables that never travel',
    '--limit <n>      differing rows listed per table; default 20',
    "--strict         a decoder's dispensers, which have a height of their own, must be equal too, and rows of",
    '                 one block or action must stand in the same order of ids',
    '--json           the verdict as one JSON document'
  ],

  async run(argv: readonly string[]): Promise<number> {
    const { source, replica, table, local, limit, strict, json } = readOptions(argv, {
      source: { type: 'string' },
      replica: { type: 'string' },
      table: { type: 'string' },
      local: { type: 'string', default: '' },
      limit: { type: 'string', default: '20' },
      strict: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false }
    });
    if (source === undefined || replica === undefined)
      throw new PlatformError('COMMAND_INVALID', { reason: '--source and --replica are required' });
    const verdict = await compareDatabases(source, replica, {
      limit: readNumber('--limit', limit, 1, MAX_LISTED_ROWS),
      strict,
      local: local.split(',').filter(Boolean),
      ...(table === undefined ? {} : { table })
    });
    console.log(json ? JSON.stringify(verdict) : renderVerdict(verdict));
    return verdict.equal ? 0 : 1;
  }
};
