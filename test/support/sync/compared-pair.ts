import assert from 'node:assert/strict';
import { type Connection, connect } from '../../../src/db/connection.ts';
import type { CompareOptions, Comparison, DigestSource } from '../../../src/replication/replica/compare/comparison.ts';
import { DigestComparison } from '../../../src/replication/replica/compare/digest-compare.ts';
import { repair } from '../../../src/replication/replica/compare/repair.ts';
import { writeReplicaState } from '../../../src/replication/replica/database/state.ts';
import { SourceDigests } from '../../../src/replication/source/answers/digests.ts';
import { readLayout } from '../../../src/replication/tables/source-layout.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import type { DigestQuery, RangeRows } from '../../../src/wire/data/digest.ts';
import { atEnd } from '../cleanup.ts';
import { createDatabase } from '../mariadb.ts';
import { sql } from '../sql.ts';
import { apply, content, context, createReplica, FIRST } from './small-replica.ts';
import { TEST_KEY } from './source-thread.ts';

/** A source's answers, read from its database as its actor does, and how many were given. */
function digestsOf(database: DatabaseCoordinates) {
  const id = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' } as const;
  const digests = new SourceDigests({ id, localTables: [] }, () => connect(database, { finderKey: TEST_KEY }), {
    reorgs: () => 0,
    amendments: () => 0,
    learned: () => null,
    isSettled: async () => true
  });
  atEnd(async () => digests.destroy());
  let asked = 0;
  /** Work at the source before it is asked for rows. */
  let beforeRows = async () => undefined as unknown;
  /** False parts of its answers with rows. */
  let stated: Partial<RangeRows> = {};
  const ask = async (query: Partial<DigestQuery>) => {
    asked += 1;
    return JSON.parse(await digests.read({ table: null, range: null, rows: false, ...query }));
  };
  const source: DigestSource = {
    digestKey: async () => {
      asked += 1;
      return JSON.parse(await digests.key());
    },
    digest: (key) => ask({ key }),
    digestRanges: (table, range, key, _signal, settled = false, ids = true) => ask({ table, range, key, settled, ids }),
    digestRows: async (table, range, key, _signal, ids = true) => {
      await beforeRows();
      return { ...(await ask({ table, range, key, rows: true, ids })), ...stated };
    }
  };
  const meanwhile = (work: () => Promise<unknown>) => {
    beforeRows = work;
  };
  const state = (instead: Partial<RangeRows>) => {
    stated = instead;
  };
  return { source, asked: () => asked, meanwhile, state };
}

/** A replica at block 1 and a source that is equal to it. @param more statements that make and fill further tables */
export async function createComparedPair(more: readonly string[] = []) {
  const { to, writer } = await createReplica();
  await apply(writer, [FIRST]);
  const database = await createDatabase('compared');
  for (const statement of more) await writer.query(statement);
  const further = more.flatMap((statement) => /^CREATE TABLE (\w+)/.exec(statement)?.[1] ?? []);
  const names = [...Object.keys(await content(writer)), ...further];
  await sql(
    database,
    'SET foreign_key_checks = 0',
    ...names.flatMap((name) => [
      `CREATE TABLE ${name} LIKE ${to.name}.${name}`,
      `INSERT INTO ${name} SELECT * FROM ${to.name}.${name}`
    ])
  );
  const look = await connect(database);
  await writeReplicaState(writer, { schemaFingerprint: (await readLayout(look, 'decoder')).fingerprint });
  await look.end();
  const { source, asked, meanwhile, state } = digestsOf(database);
  const { schema, epochSize } = await context(writer);
  const compare = async (options: CompareOptions = {}) => {
    const reader = await connect(to);
    const { schema: now } = await context(reader);
    const found = await new DigestComparison(reader, now, source, options).compare();
    await reader.end();
    return found;
  };
  const recheck = async (before: Comparison) => {
    assert.ok(before.kind === 'different');
    const reader = await connect(to);
    const found = await new DigestComparison(reader, schema, source).recheck(before);
    await reader.end();
    return found;
  };
  const mend = (at: Connection, found: Comparison, height = found.height) =>
    repair(at, { schema, epochSize }, height, found.kind === 'different' ? found.tables : []);
  const attest = async () => {
    const reader = await connect(to);
    const found = await new DigestComparison(reader, schema, source).attest();
    await reader.end();
    return found;
  };
  return { to, writer, database, compare, recheck, attest, mend, asked, meanwhile, state };
}
