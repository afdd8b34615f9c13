import assert from 'node:assert/strict';
import { closeSync, fstatSync, globSync, openSync, readSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { hostileTables, PARENT, TABLE } from '../../lab/fuzz/support/hostile-table.ts';
import { type Connection, connect, rows } from '../../src/db/connection.ts';
import { hasCode, PlatformError } from '../../src/errors.ts';
import { finishTables, planSchema, recreateTables, type SchemaPlan } from '../../src/replication/ddl/schema-writer.ts';
import { startOwnServer } from '../support/mariadb.ts';

const SEED = 20_250;
const STATEMENTS = 2_500;
const EXECUTED = 300;
/** Number of these tables that MariaDB gets too: it knows more reasons to refuse one. */
const MADE = 80;
const PARENT_TEXT = 'CREATE TABLE `p` (`id` int(11) NOT NULL, PRIMARY KEY (`id`)) ENGINE=InnoDB';
const DATABASE = 'replica';

/** Returns a client's plan of a source's texts; null where it refuses them. */
function planOf(text: string): SchemaPlan | null {
  const tables = { [TABLE]: text, [PARENT]: PARENT_TEXT };
  try {
    return planSchema({ chain: 'c', network: 'n', dbType: 'indexer', tables }, 'indexer', []);
  } catch (caught) {
    assert.ok(caught instanceof PlatformError, String(caught));
    return null;
  }
}

async function make(connection: Connection, { tables }: SchemaPlan): Promise<boolean> {
  try {
    await recreateTables(connection, tables);
    await finishTables(connection, tables);
    return true;
  } catch (caught) {
    if (hasCode(caught, 'SCHEMA_REFUSED')) return false;
    throw caught;
  }
}

/** The statements that the server was sent since the log was so long. */
function readLog(log: number, from: number): string[] {
  const bytes = Buffer.alloc(fstatSync(log).size - from);
  readSync(log, bytes, 0, bytes.length, from);
  const entries = bytes.toString('utf8').split(/^(?:\d{6} [ \d]\d:\d\d:\d\d)?\t+ *\d+ (?=[A-Z][a-z ]+\t)/m);
  return entries.flatMap((entry) => (entry.startsWith('Query\t') ? [entry.slice(6).replace(/\n$/, '')] : []));
}

/** Everything that a server holds beside its rows: databases, tables, accounts, programs, settings, files. */
async function takeStock(connection: Connection): Promise<unknown> {
  const all = (query: string) => rows<Record<string, unknown>>(connection, query);
  const [{ home }] = (await all('SELECT @@datadir AS home')) as [{ home: string }];
  return {
    tables: await all('SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES ORDER BY 1, 2'),
    databases: await all('SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME FROM information_schema.SCHEMATA ORDER BY 1'),
    accounts: await all('SELECT Host, User, Priv FROM mysql.global_priv ORDER BY 1, 2'),
    programs: await all('SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM information_schema.ROUTINES ORDER BY 1, 2'),
    triggers: await all('SELECT TRIGGER_SCHEMA, TRIGGER_NAME FROM information_schema.TRIGGERS ORDER BY 1, 2'),
    events: await all('SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS ORDER BY 1, 2'),
    plugins: await all('SELECT PLUGIN_NAME, PLUGIN_STATUS FROM information_schema.PLUGINS ORDER BY 1'),
    servers: await all('SELECT Server_name, Host FROM mysql.servers ORDER BY 1'),
    settings: await all("SHOW GLOBAL VARIABLES WHERE Variable_name NOT REGEXP 'gtid|lsn|timestamp|uptime'"),
    files: globSync('**', { cwd: home }).filter((file) => !/ib_logfile|undo|ib_buffer_pool|aria_log|ibtmp/.test(file))
  };
}

test('a server is sent only the printed statements of hostile texts, and nothing else is left there', async () => {
  // Under this server's own mode quotes and backslashes in the printed texts would mean something else.
  const mode = '--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT';
  const server = await startOwnServer([mode, '--general-log=1', '--general-log-file=sent.log', '--log-output=FILE']);
  const other = await connect(server.root);
  await other.query(`CREATE DATABASE ${DATABASE}`);
  const connection = await connect({ ...server.root, name: DATABASE });
  const [{ home }] = (await rows(connection, 'SELECT @@datadir AS home')) as [{ home: string }];
  const log = openSync(`${home}sent.log`, 'r');

  const plain = planOf('CREATE TABLE `t` (`a` int(11) DEFAULT NULL) ENGINE=InnoDB')!;
  let { size: end } = fstatSync(log);
  assert.equal(await make(connection, plain), true);
  const first = readLog(log, end);
  const printedBy = ({ tables }: SchemaPlan) => new Set(tables.flatMap(({ ddl }) => [ddl.create, ...ddl.afterLoad]));
  const usual = new Set(first.filter((statement) => !printedBy(plain).has(statement)));
  assert.ok(usual.has('DROP TABLE IF EXISTS `t`') && usual.size < 20, [...usual].join('\n'));
  const before = await takeStock(other);

  const plans = fc.sample(hostileTables, { seed: SEED, numRuns: STATEMENTS }).flatMap((text) => planOf(text) ?? []);
  let made = 0;
  for (const plan of plans.slice(0, EXECUTED)) {
    ({ size: end } = fstatSync(log));
    const whole = await make(connection, plan);
    const sent = readLog(log, end).filter((statement) => !usual.has(statement));
    const printed = plan.tables
      .flatMap(({ ddl }) => [ddl.create])
      .concat(plan.tables.flatMap(({ ddl }) => ddl.afterLoad));
    if (whole) assert.deepEqual(sent, printed);
    else assert.deepEqual(sent, printed.slice(0, sent.length));
    made += whole ? 1 : 0;
  }
  assert.equal(plans.slice(0, EXECUTED).length, EXECUTED);
  assert.ok(made >= MADE, `only ${made} were tables to MariaDB`);

  assert.equal(await make(connection, plain), true);
  assert.deepEqual(await takeStock(other), before);
  closeSync(log);
  await connection.end();
  await other.end();
});
