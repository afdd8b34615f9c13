import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCreateTable } from '../../../../src/replication/ddl/create-table-parser.ts';
import { LOWEST } from '../../../../src/replication/source/changes/spans.ts';
import type { TableFacts } from '../../../../src/replication/source/changes/table-facts.ts';
import { TableWatch } from '../../../../src/replication/source/changes/table-watch.ts';
import { SourceMemory } from '../../../../src/replication/source/reading/memory.ts';
import { classifyTables } from '../../../../src/replication/tables/classify.ts';
import type { SourceLayout } from '../../../../src/replication/tables/source-layout.ts';

test('a successor repeats what amended the last block: subscribers without amendments may not have it', () => {
  const older = { spans: { tokens: [[3, 4] as const] }, lastIdsBefore: {} };
  const blockOf = (amended: number) => ({ height: 7, hashes: { block_hash: 'h7' }, lookupsBefore: {}, older, amended });
  const repeatedBy = (amended: number) => {
    const start = {
      height: 7,
      blockTime: null,
      hashes: { block_hash: 'h7' },
      recent: [blockOf(amended)],
      openGroup: null
    };
    return Object.fromEntries(new SourceMemory('indexer', start).again(1_000));
  };
  assert.deepEqual(repeatedBy(1), { tokens: [[3, 4]] });
  assert.deepEqual(repeatedBy(0), {});
});

/** Layout of a database with one table. */
function layoutOf(table: string, content: string): SourceLayout {
  const tables = [parseCreateTable(table, `CREATE TABLE \`${table}\` (\n  ${content}\n)`)];
  const plans = classifyTables(tables, 'decoder', []);
  const nothing = { outsideChildren: new Set<string>(), notReplicated: new Map<string, string>(), heads: null };
  return { dbType: 'decoder', tables, plans, fingerprint: content, ...nothing };
}

test('a large table that gets other columns is not settled before its old rows were looked at', () => {
  const notes = (more: string) => layoutOf('notes', `\`id\` int(11) NOT NULL,${more}\n  PRIMARY KEY (\`id\`)`);
  const start = { height: 7, blockTime: null, hashes: { block_hash: 'h7' }, recent: [], openGroup: null };
  const unsettledWith = (rows: number) => {
    const memory = new SourceMemory('decoder', start);
    const facts = new Map([['notes', { rows } as TableFacts]]);
    memory.align(notes(''), facts);
    memory.align(notes('\n  `seen` datetime(6) NOT NULL DEFAULT current_timestamp(6),'), facts);
    return memory.unsettled;
  };
  assert.deepEqual(unsettledWith(25_000), ['notes']);
  assert.deepEqual(unsettledWith(5_000), [], 'of a smaller one the next group sends all rows');
});

test('a table that another key divides is known by the column of that key', () => {
  const names = (more: string) =>
    layoutOf('names', `\`k\` varchar(40) NOT NULL,\n  \`n\` int(11) NOT NULL,\n  PRIMARY KEY (\`k\`)${more}`);
  const start = { height: 7, blockTime: null, hashes: { block_hash: 'h7' }, recent: [], openGroup: null };
  const memory = new SourceMemory('decoder', start);
  const facts = new Map([['names', { rows: 5_000 } as TableFacts]]);
  const columns = ['', ',\n  UNIQUE KEY `un` (`n`)', ''].map((more) => {
    memory.align(names(more), facts);
    return memory.watches.get('names')?.ranging.column;
  });
  assert.deepEqual(columns, [null, 'n', null]);
});

test('rows are sent and named one by one only by a key by which replicas know them', () => {
  const isSingle = (content: string) => {
    const { plans, tables } = layoutOf('names', content);
    return new TableWatch(plans[0]!, tables, LOWEST, 10).isSingle;
  };
  const columns = '`k` varchar(40) NOT NULL,\n  `n` int(11) NOT NULL';
  assert.equal(isSingle(`${columns},\n  PRIMARY KEY (\`n\`)`), true);
  assert.equal(isSingle(`${columns},\n  PRIMARY KEY (\`k\`),\n  UNIQUE KEY \`un\` (\`n\`)`), false);
  const numbered = `\`id\` int(11) NOT NULL AUTO_INCREMENT,\n  ${columns}`;
  assert.equal(isSingle(`${numbered},\n  PRIMARY KEY (\`id\`),\n  UNIQUE KEY \`uk\` (\`k\`)`), true);
});
