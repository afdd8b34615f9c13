import { growthOf } from '../support/tables-in-use/growth.ts';
import { replicationTests } from './replication.ts';

replicationTests('indexer', growthOf('indexer'), { seed: 'replication', blocks: 400, rows: 15_000 }, 25);
