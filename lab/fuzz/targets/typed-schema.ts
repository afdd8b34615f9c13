import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { parseCreateTable } from '../../../src/replication/ddl/create-table-parser.ts';
import { planSchema } from '../../../src/replication/ddl/schema-writer.ts';
import { printAdditions, printChanges } from '../../../src/replication/tables/ddl.ts';
import { type SchemaRecord, SchemaRecordSchema } from '../../../src/wire/data/schema.ts';
import { jsonLike } from '../support/hostile.ts';
import { beyondGrammar } from '../support/printed-grammar.ts';
import { outcome, target } from '../support/target.ts';

const isSchemaRecord = Compile(SchemaRecordSchema);

const OWN = parseCreateTable(
  't',
  `CREATE TABLE \`t\` (\`id\` int(11) NOT NULL AUTO_INCREMENT, \`word\` varchar(40) DEFAULT 'x', \`gone\` int(11), \`kind\` enum('a','b'),
    \`made\` timestamp(3) NOT NULL DEFAULT current_timestamp(3) ON UPDATE current_timestamp(3), \`low\` varchar(40) AS (lcase(\`word\`)) VIRTUAL,
    \`doc\` longtext CHECK (json_valid(\`doc\`)), PRIMARY KEY (\`id\`), UNIQUE KEY \`word\` (\`word\`(10)), KEY \`gone\` (\`gone\`),
    CONSTRAINT \`up\` FOREIGN KEY (\`gone\`) REFERENCES \`p\` (\`id\`) ON DELETE SET NULL)`
);
const PARENT = parseCreateTable('p', 'CREATE TABLE `p` (`id` int(11) NOT NULL, PRIMARY KEY (`id`))');
const SPECIMEN: SchemaRecord = {
  chain: 'c',
  network: 'n',
  dbType: 'indexer',
  tables: {},
  typed: [{ ...OWN, class: 'mutable' }, PARENT],
  fingerprint: 'f'
};

export const typedSchema = target<string>({
  name: 'typed-schema',
  promise: 'a typed schema is refused, or what makes its tables, or changes ours into them, is of the grammar',
  runs: 4_000,
  shortRuns: 1_250,
  inputs: jsonLike(fc.constant(SPECIMEN)),
  check: async (text) => {
    const record = await outcome(() => JSON.parse(text) as unknown, []).catch(() => ({ value: null }));
    if (!('value' in record) || !isSchemaRecord.Check(record.value)) return;
    const found = await outcome(
      () => planSchema(record.value as SchemaRecord, 'indexer', []),
      ['SCHEMA_REFUSED', 'SOURCE_INVALID']
    );
    if ('refused' in found) return;
    for (const { table, ddl } of found.value.tables) {
      for (const statement of [ddl.create, ...ddl.afterLoad]) assert.equal(beyondGrammar(table.name, statement), null);
      for (const print of [printChanges, printAdditions]) {
        const changes = await outcome(() => print(OWN, table), ['SCHEMA_REFUSED']);
        if ('refused' in changes) continue;
        for (const statement of changes.value) assert.equal(beyondGrammar(table.name, statement), null);
      }
    }
  },
  growing: {
    tables: (length) =>
      JSON.stringify({
        ...SPECIMEN,
        typed: Array.from({ length: Math.min(4_096, length / 100) }, (_, at) => ({ ...PARENT, name: `p${at}` }))
      }),
    'generated columns': (length) => {
      const made = (_: unknown, at: number) => ({ ...OWN.columns[5], name: `c${at}` });
      const columns = [...OWN.columns, ...Array.from({ length: Math.min(4_000, length / 100) }, made)];
      return JSON.stringify({ ...SPECIMEN, typed: [{ ...OWN, columns }, PARENT] });
    },
    references: (length) => {
      const typed = Array.from({ length: Math.min(4_096, length / 100) }, (_, at) => ({
        ...PARENT,
        name: `p${at}`,
        foreignKeys: [{ ...OWN.foreignKeys[0], columns: ['id'], referencedTable: `p${at + 1}` }]
      }));
      return JSON.stringify({ ...SPECIMEN, typed });
    }
  }
});
