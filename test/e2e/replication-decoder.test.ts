import { appendBacklog, appendBlocks, createDecoder, reorg } from '../support/generated-decoder.ts';
import { replicationTests } from './replication.ts';

replicationTests({
  dbType: 'decoder',
  create: (to) => createDecoder(to, { seed: 'replication', blocks: 400, rows: 20_000 }),
  append: appendBlocks,
  backlog: appendBacklog,
  reorg
});
