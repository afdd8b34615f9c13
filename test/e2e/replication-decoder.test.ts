import { growthOf } from '../support/tables-in-use/growth.ts';
import { replicationTests } from './replication.ts';

replicationTests('decoder', growthOf('decoder'), { seed: 'replication', blocks: 400, rows: 8_000 }, 25);
