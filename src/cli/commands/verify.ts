import { syncVariables } from '../../config/services/sync.ts';
import { loadSettings } from '../../discovery/settings.ts';
import { PlatformError } from '../../errors.ts';
import { compareDatabases } from '../../verify/compare.ts';
import { renderVerdict } from '../../verify/report.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { readNumber, readOptions } from '../options.ts';
import { renderRemoteVerdict, verifyRemote } from './verify-remote.ts';

const variables = { SYNC_API_KEY: syncVariables.SYNC_API_KEY };
const MAX_LISTED_ROWS = 100_000;

const OPTIONS = {
  source: {
    type: 'string',
    value: '<url>',
    help: [
      'mysql://user:pass@host:port/database, or mysql://user:pass@localhost/database?socket=/path',
      'or http://host:port of a sync server: compared by digests over the network'
    ]
  },
  replica: { type: 'string', value: '<url>', help: ['mysql:// URL of the replica'] },
  table: { type: 'string', value: '<name>', help: ['compare only this table'] },
  local: { type: 'string', value: '<a,b>', default: '', help: ['further tables that are never replicated'] },
  limit: { type: 'string', value: '<n>', default: '20', help: ['differing rows listed per table; default 20'] },
  ids: {
    type: 'boolean',
    default: false,
    help: ['compare AUTO_INCREMENT ids in every table, even when the replica keeps its own']
  },
  strict: {
    type: 'boolean',
    default: false,
    help: [
      "a decoder's dispensers, which have a height of their own, must be equal too, and rows of",
      'one block or action must stand in the same order of ids'
    ]
  },
  json: { type: 'boolean', default: false, help: ['print the verdict as one JSON document'] },
  database: {
    type: 'string',
    value: '<id>',
    help: [
      'with a sync server: the database to compare, such as indexer/bitcoin/mainnet; not needed when the server has only one'
    ]
  },
  key: {
    type: 'string',
    value: '<token>',
    help: ['its SYNC_API_KEY; default: the variable SYNC_API_KEY, which does not show in process lists']
  },
  'dry-run': {
    type: 'boolean',
    default: false,
    help: ['with a sync server: print what --repair would change, and change nothing: the default']
  },
  repair: {
    type: 'boolean',
    default: false,
    help: ['with a sync server: replace differing rows by those of the source; no client of this replica may run']
  }
} as const satisfies OptionTable;

/**
 * Command `platform-node verify`: checks a replica.
 *
 * With two databases it compares row by row, independent of the replication; with a sync server as the source it
 * compares digests. Exit codes: 0 equal, 1 different, 64 wrong usage, 69 unreachable.
 */
export const verifyCommand: Command = {
  name: 'verify',
  summary: 'compares a replica with its source, row by row, or with a sync server by digests',
  variables,
  options: OPTIONS,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { source, replica, table, local, limit, ids, strict, json, ...network } = readOptions(argv, OPTIONS);
    if (source === undefined || replica === undefined)
      throw new PlatformError('COMMAND_INVALID', { reason: '--source and --replica are required' });
    const { database, key, repair, 'dry-run': dryRun } = network;
    if (/^https?:/.test(source)) {
      if (repair && dryRun)
        throw new PlatformError('COMMAND_INVALID', { reason: '--repair and --dry-run exclude each other' });
      if (strict) throw new PlatformError('COMMAND_INVALID', { reason: '--strict needs two databases: mysql:// URLs' });
      const found = await verifyRemote({
        source,
        replica,
        key: key ?? (await loadSettings({ name: 'verify', variables }, env)).values.SYNC_API_KEY?.[0],
        database,
        table,
        local: local.split(',').filter(Boolean),
        ids,
        repair
      });
      console.log(json ? JSON.stringify(found) : renderRemoteVerdict(found));
      return found.equal ? 0 : 1;
    }
    if (repair || dryRun || database !== undefined || key !== undefined) {
      const reason = '--repair, --dry-run, --database and --key need a sync server as --source: http://host:port';
      throw new PlatformError('COMMAND_INVALID', { reason });
    }
    const verdict = await compareDatabases(source, replica, {
      limit: readNumber('--limit', limit, 1, MAX_LISTED_ROWS),
      strict,
      ids,
      local: local.split(',').filter(Boolean),
      ...(table === undefined ? {} : { table })
    });
    console.log(json ? JSON.stringify(verdict) : renderVerdict(verdict));
    return verdict.equal ? 0 : 1;
  }
};
