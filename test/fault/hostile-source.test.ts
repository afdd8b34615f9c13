import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { compareDatabases } from '../../src/verify/compare.ts';
import { createDatabase, dropAfterwards } from '../support/mariadb.ts';
import { sql } from '../support/sql.ts';
import { bootstrapper } from '../support/sync/bootstrapper.ts';
import { createDecoder } from '../support/sync/generated-decoder.ts';
import { startHostileSource } from '../support/sync/hostile-source.ts';
import {
  differences,
  PAIR_KEY,
  REPLICA_PREFIX,
  type SyncPair,
  startPair,
  startTestHub
} from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

type Row = Record<string, unknown>;
interface Body {
  schema_version: number;
  block_height: number;
  tables: Record<string, Row[]>;
}
interface Schema {
  tables: Record<string, string>;
  typed?: { name: string }[];
}

let pair: SyncPair;
let snapshot: { readonly headers: Record<string, string>; readonly body: Body };
before(async () => {
  const source = await createDatabase('hostile');
  await createDecoder(source, { seed: 'hostile', blocks: 10, rows: 300 });
  pair = await startPair('decoder', source);
  const response = await ask('/snapshot/decoder/litecoin/regtest');
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name.startsWith('x-')));
  snapshot = { headers: { ...headers, 'content-encoding': 'gzip' }, body: (await response.json()) as Body };
});

const ask = (path: string) => fetch(`${pair.server.url}${path}`, { headers: { authorization: `Bearer ${PAIR_KEY}` } });

/** Forged change of a schema, of the rows of a snapshot, or of the text of one. */
interface Forgery {
  readonly schema?: (schema: Schema) => unknown;
  readonly snapshot?: (body: Body) => unknown;
  readonly text?: (json: string) => string;
}

/** The server of the pair, but for what is forged. */
async function forgedSource(forge: Forgery) {
  return startHostileSource((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      if (path.startsWith('/snapshot/')) {
        const body = structuredClone(snapshot.body);
        forge.snapshot?.(body);
        const json = JSON.stringify(body);
        return void response.writeHead(200, snapshot.headers).end(gzipSync(forge.text?.(json) ?? json));
      }
      const answer = await ask(path);
      const body = (await answer.json()) as Schema;
      if (path.startsWith('/schema/')) forge.schema?.(body);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    })().catch(() => response.destroy());
  });
}

/** Only the text of a definition, as compatible servers send it. */
const defined = (change: (text: string) => string) => (schema: Schema) => {
  delete schema.typed;
  schema.tables['transactions'] = change(schema.tables['transactions']!);
};
const rows = (body: Body, table = 'transactions') => body.tables[table]!;

const LIES: readonly [what: string, forge: Forgery, code: string, message: RegExp][] = [
  [
    'rows of an unknown table',
    { snapshot: (body) => Object.assign(body.tables, { mysql_user: [{ a: 1 }] }) },
    'SOURCE_INVALID',
    /unknown table mysql_user/
  ],
  [
    'an unknown column',
    { snapshot: (body) => Object.assign(rows(body)[3]!, { evil: 1 }) },
    'SOURCE_INVALID',
    /transactions has column evil/
  ],
  [
    'a column too few',
    { snapshot: (body) => delete rows(body)[3]!['fee'] },
    'SOURCE_INVALID',
    /transactions lacks column fee/
  ],
  ['a duplicate key', { snapshot: (body) => rows(body).push(rows(body)[0]!) }, 'ROW_REFUSED', /Duplicate entry/],
  [
    'a row nested 200 levels',
    { text: (json) => json.replace('"fee":', `"fee":${'['.repeat(200)}${']'.repeat(200)},"x":`) },
    'SOURCE_INVALID',
    /nested deeper/
  ],
  [
    'a row above MAX_ROW_BYTES',
    { snapshot: (body) => Object.assign(rows(body)[0]!, { data: 'x'.repeat(2 ** 20) }) },
    'SOURCE_INVALID',
    /longer than 1048576 bytes/
  ],
  ['a block too few', { snapshot: (body) => rows(body, 'blocks').splice(4, 1) }, 'SOURCE_INVALID', /have a gap/],
  [
    'another height in its body',
    { snapshot: (body) => Object.assign(body, { block_height: body.block_height + 1 }) },
    'SOURCE_INVALID',
    /differ in height or version/
  ],
  [
    'another schema version',
    { snapshot: (body) => Object.assign(body, { schema_version: 4 }) },
    'SOURCE_INVALID',
    /differ in height or version/
  ],
  ['no end mark', { text: (json) => json.slice(0, -1) }, 'SOURCE_TRUNCATED', /before its end mark/],
  [
    'a trigger for a table',
    { schema: defined(() => 'CREATE TRIGGER `transactions` BEFORE INSERT ON `blocks` FOR EACH ROW SET @a = 1') },
    'SCHEMA_REFUSED',
    /no CREATE TABLE/
  ],
  [
    'a view for a table',
    { schema: defined(() => 'CREATE VIEW `transactions` AS SELECT * FROM `mysql`.`user`') },
    'SCHEMA_REFUSED',
    /no CREATE TABLE/
  ],
  ['two statements', { schema: defined((text) => `${text}; DROP DATABASE mysql`) }, 'SCHEMA_REFUSED', /semicolon/],
  [
    'a comment that is executed',
    { schema: defined((text) => `${text} /*!50100 PARTITION BY HASH (\`fee\`) */`) },
    'SCHEMA_REFUSED',
    /comment/
  ],
  [
    'a backtick in a name',
    { schema: defined((text) => text.replaceAll('`fee`', '`f``ee`')) },
    'SCHEMA_REFUSED',
    /other characters/
  ],
  [
    'a name of another database',
    { schema: defined((text) => text.replace('`transactions`', '`mysql`.`transactions`')) },
    'SCHEMA_REFUSED',
    /another name/
  ],
  [
    'a typed name that is none',
    { schema: (schema) => Object.assign(schema.typed![0]!, { name: 'a`; DROP TABLE x' }) },
    'SOURCE_INVALID',
    /no table blocks/
  ]
];

test('a source that lies in its schema or its snapshot: refused by name, nothing taken for complete, an honest one mends it', async () => {
  for (const [what, forge, code, message] of LIES) {
    const source = await forgedSource(forge);
    const { attempt, close } = bootstrapper(source.url, pair.replica);
    await assert.rejects(attempt(), { code, message }, what);
    close();
    const [marker] = await sql(pair.replica, 'SELECT complete, height FROM sync_state');
    assert.deepEqual(marker, { complete: 0, height: null }, what);
  }
  const mysql = await sql(pair.source, "SELECT COUNT(*) AS n FROM mysql.user WHERE User = 'root'");
  assert.ok(Number(mysql[0]?.['n']) > 0);
  const honest = bootstrapper(pair.server.url, pair.replica);
  await honest.attempt();
  honest.close();
  const verdict = await compareDatabases(pair.source, pair.replica);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
});

test('a table of another engine becomes InnoDB', async () => {
  const source = await forgedSource({ schema: defined((text) => text.replace(/ENGINE=InnoDB/, 'ENGINE=MyISAM')) });
  await sql(pair.replica, `DROP DATABASE \`${pair.replica.name}\``);
  const { attempt, close } = bootstrapper(source.url, pair.replica);
  await attempt();
  close();
  const [table] = await sql(
    pair.replica,
    "SELECT ENGINE AS engine FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'transactions'"
  );
  assert.equal(table?.['engine'], 'InnoDB');
});

test('one database whose source lies, and one whose source never answers, leave the third alone', async () => {
  const liar = await forgedSource({ snapshot: (body) => Object.assign(rows(body)[0]!, { evil: 1 }) });
  const other = await createDatabase('hostile_other');
  await createDecoder(other, { seed: 'other', blocks: 5, rows: 50 });
  const honest = await startPair('decoder', other);
  // The hub knows one decoder of a chain and network; the indexer's requests are those that are never answered.
  const silent = await startHostileSource((request, response) => {
    if (!request.url?.includes('/decoder/')) return;
    response.writeHead(307, { location: `${liar.url}${request.url}` }).end();
  });
  const hubPort = await startTestHub([
    ['decoder', other],
    ['indexer', await createDatabase('hostile_silent')]
  ]);
  const client = await honest.startClient({ HUB_PORT: hubPort, SYNC_SOURCES: `${silent.url},${honest.server.url}` });
  dropAfterwards(other, `${REPLICA_PREFIX}${other.name}`);
  await eventually('the honest one is live', async () => (await honest.status(client))['phase'] === 'live');
  assert.match(client.log(), /answered 307/);
  assert.equal(liar.requests.length, 0, 'the redirect was not followed');
  const verdict = await honest.compare();
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  await client.end();
  await honest.server.end();
  await pair.server.end();
});
