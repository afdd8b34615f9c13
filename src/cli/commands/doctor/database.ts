import { statfs } from 'node:fs/promises';
import { type Connection, connect, placeOf, quoteName, rows } from '../../../db/connection.ts';
import { allowsBulkLoad } from '../../../replication/replica/load/bulk-load.ts';
import { readLogState } from '../../../replication/source/binlog/position.ts';
import { findBinlogObstacle } from '../../../replication/source/binlog/support.ts';
import type { DatabaseNeed } from '../../../service/needs.ts';
import { type Finding, fault, faultOf, ok, unknown } from './finding.ts';
import { findLacking } from './grants.ts';
import { diskFinding } from './place.ts';

/** Oldest release whose checksums, binary log and statements are used. */
const OLDEST = [10, 6] as const;
/** Difference of two clocks from which times of blocks and of rows contradict each other, in milliseconds. */
const MOST_CLOCK_MS = 2_000;
const LOCAL = new Set(['127.0.0.1', '::1', 'localhost']);

/** Examines a database, its server and the rights of the account. */
export async function examineDatabase(need: DatabaseNeed): Promise<readonly Finding[]> {
  const { name, ...server } = need.coordinates;
  const check = `MariaDB ${placeOf(server)}`;
  let connection: Connection;
  try {
    connection = await connect(server);
  } catch (caught) {
    return [faultOf(check, caught), unknown(`database ${name}`, 'MariaDB could not be asked')];
  }
  try {
    return [
      await examineServer(check, connection, server.user),
      await examineClock(check, connection),
      await examineRights(connection, need),
      await examineExistence(connection, need),
      ...(need.loadsInBulk ? [await examineBulkLoad(connection)] : []),
      ...(need.binlog ? [await examineLog(connection, need.binlog, name)] : []),
      ...(LOCAL.has(server.host) ? await examineDisk(connection) : [])
    ];
  } catch (caught) {
    return [faultOf(check, caught)];
  } finally {
    connection.destroy();
  }
}

async function examineServer(check: string, connection: Connection, user: string): Promise<Finding> {
  const [found] = await rows<{ version: string }>(connection, 'SELECT VERSION() AS version');
  const version = String(found?.version);
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return isOld
    ? fault(check, `the server is MariaDB ${version}`, `use MariaDB ${OLDEST.join('.')} or later`)
    : ok(check, `MariaDB ${version} takes the account ${user}`);
}

async function examineClock(check: string, connection: Connection): Promise<Finding> {
  const asked = Date.now();
  const [found] = await rows<{ now: string }>(connection, 'SELECT UNIX_TIMESTAMP(NOW(6)) AS now');
  const offMs = Math.round(Number(found?.now) * 1000 - (asked + Date.now()) / 2);
  const clock = `clock of ${check}`;
  return Math.abs(offMs) > MOST_CLOCK_MS
    ? fault(clock, `it differs from the one here by ${offMs} ms`, 'let both machines follow a time server')
    : ok(clock, `it differs from the one here by ${offMs} ms`);
}

async function examineRights(connection: Connection, need: DatabaseNeed): Promise<Finding> {
  const { coordinates, rights, tableRights = {} } = need;
  const check = `rights on ${coordinates.name}`;
  const grants = (await rows(connection, 'SHOW GRANTS')).map((line) => String(Object.values(line)[0]));
  const [account] = await rows<{ name: string }>(connection, 'SELECT CURRENT_USER() AS name');
  const [user = '', host = ''] = String(account?.name).split(/@(?=[^@]*$)/);
  const to = `'${user}'@'${host}'`;
  const places = [[null, rights] as const, ...Object.entries(tableRights)];
  const missing = places.flatMap(([table, wanted]) => {
    const lacking = findLacking(grants, coordinates.name, table, wanted);
    const on = `${quoteName(coordinates.name)}.${table ?? '*'}`;
    return lacking.length === 0 ? [] : [`GRANT ${lacking.join(', ')} ON ${on} TO ${to}`];
  });
  return missing.length === 0
    ? ok(check, [...rights, ...Object.keys(tableRights)].join(', '))
    : fault(check, 'the account lacks rights', `${missing.join('; ')}; docs/operating/grants.md tells why`);
}

async function examineExistence(connection: Connection, { coordinates, madeBy }: DatabaseNeed): Promise<Finding> {
  const check = `database ${coordinates.name}`;
  const sql = 'SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?';
  const isThere = (await rows(connection, sql, [coordinates.name])).length > 0;
  if (isThere) return ok(check, 'it is there');
  if (madeBy === null) return ok(check, 'it is made at the start');
  return unknown(check, 'it is not there, or the account may not see it', `start the ${madeBy}, which makes it`);
}

async function examineBulkLoad(connection: Connection): Promise<Finding> {
  return (await allowsBulkLoad(connection))
    ? ok('local_infile', 'rows are loaded in bulk')
    : fault('local_infile', 'it is off: rows go in by INSERT, several times slower', 'SET GLOBAL local_infile = 1');
}

async function examineLog(connection: Connection, mode: 'auto' | 'required', name: string): Promise<Finding> {
  const obstacle = (await readLogState(connection)).obstacle ?? (await findBinlogObstacle(connection, name));
  if (obstacle === null) return ok('binary log', 'changes are read from it');
  const [reason = '', remedy] = obstacle.split(/: (?!.*: )/);
  const without = `${reason}; without it changes are found by checksums`;
  return mode === 'required'
    ? fault('binary log', reason, remedy ?? null)
    : unknown('binary log', without, remedy ?? null);
}

/** Looks at the disk of a server on this machine, where this user may see its directory. */
async function examineDisk(connection: Connection): Promise<readonly Finding[]> {
  const [found] = await rows<{ path: string }>(connection, 'SELECT @@datadir AS path');
  const path = String(found?.path);
  const space = await statfs(path).catch(() => null);
  return space === null ? [] : [diskFinding(`disk of ${path}`, space)];
}
