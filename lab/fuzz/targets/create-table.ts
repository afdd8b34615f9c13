import assert from 'node:assert/strict';
import { parseCreateTable } from '../../../src/replication/ddl/create-table-parser.ts';
import { printTable, type TableDdl } from '../../../src/replication/tables/ddl.ts';
import { hostileTables, TABLE } from '../support/hostile-table.ts';
import { beyondGrammar } from '../support/printed-grammar.ts';
import { outcome, target } from '../support/target.ts';

const print = (text: string): TableDdl => printTable(parseCreateTable(TABLE, text));

/** Refused, or printed anew from nothing but the grammar; and what is printed prints itself. @returns whether it was printed */
export async function checkTable(text: string): Promise<boolean> {
  const found = await outcome(() => print(text), ['SCHEMA_REFUSED']);
  if ('refused' in found) return false;
  const { create, afterLoad } = found.value;
  for (const statement of [create, ...afterLoad]) assert.equal(beyondGrammar(TABLE, statement), null);
  assert.equal(print(create).create, create);
  return true;
}

const table = (column: string) => `CREATE TABLE \`t\` (\`a\` int ${column}) ENGINE=InnoDB`;

export const createTable = target<string>({
  name: 'create-table',
  promise: 'a CREATE TABLE text is refused with SCHEMA_REFUSED, or prints into nothing but the grammar of one table',
  runs: 100_000,
  shortRuns: 50_000,
  inputs: hostileTables,
  check: async (text) => void (await checkTable(text)),
  growing: {
    'an expression': (length) => table(`, \`b\` int AS (\`a\`${'+1'.repeat(length / 2)}) VIRTUAL`),
    parentheses: (length) => table(`CHECK (${'('.repeat(length)}`),
    columns: (length) => table(Array.from({ length: length / 10 }, (_, index) => `, \`c${index}\` int`).join('')),
    'generated columns': (length) =>
      table(Array.from({ length: length / 20 }, (_, index) => `, \`c${index}\` int AS (\`a\`)`).join('')),
    keys: (length) => table(Array.from({ length: length / 10 }, (_, index) => `, KEY \`k${index}\` (\`a\`)`).join('')),
    'columns of a key': (length) => table(`, KEY \`k\` (${'`a`,'.repeat(length / 4)}\`a\`)`),
    'a text': (length) => table(`DEFAULT '${'x'.repeat(length)}'`),
    'an open text': (length) => table(`DEFAULT '${"''".repeat(length / 2)}`),
    backslashes: (length) => table(`DEFAULT '${'\\'.repeat(length)}`),
    spaces: (length) => table(' '.repeat(length)),
    comments: (length) => table('/*M!100301 COMPRESSED*/'.repeat(length / 23)),
    'an open comment': (length) => table('/*M!100301 COMPRESSED*'.repeat(length / 22)),
    members: (length) => table(`, \`e\` enum('a'${",'x'".repeat(length / 4)})`),
    digits: (length) => table(`DEFAULT ${'1'.repeat(length)}`),
    attributes: (length) => table('NULL '.repeat(length / 5)),
    options: (length) => `${table('')} ${'MAX_ROWS=1 '.repeat(length / 11)}`
  }
});
