import { appendBacklog, appendBlocks, createIndexer, reorg } from '../support/generated-indexer.ts';
import { replicationTests } from './replication.ts';

replicationTests({
  dbType: 'indexer',
  create: (to) => createIndexer(to, { seed: 'replication', blocks: 400, rows: 100_000 }),
  append: appendBlocks,
  backlog: appendBacklog,
  reorg
});
