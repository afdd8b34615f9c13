const ROWS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;

/**
 * Rights of each service's account on the databases that it uses, by the prefix of their variables; and no more. A test
 * compares them with docs/operating/grants.md, which gives the reasons.
 */
export const RIGHTS = {
  hub: { HUB: [...ROWS, 'CREATE', 'ALTER', 'INDEX'] },
  decoder: { DECODER: [...ROWS, 'CREATE', 'ALTER'] },
  indexer: { DECODER: ['SELECT'], INDEXER: [...ROWS, 'CREATE'] },
  explorer: { INDEXER: ['SELECT'], DECODER: ['SELECT'] },
  tracker: { UTXO: [...ROWS, 'CREATE', 'INDEX', 'DROP'] },
  sync: { INDEXER: ['SELECT'], DECODER: ['SELECT'] },
  replica: { REPLICA: [...ROWS, 'CREATE', 'ALTER', 'INDEX', 'REFERENCES', 'DROP'] }
} as const;

/** Tables that a sync server keeps in the database of an indexer, and its rights on them. */
export const CONTROL_TABLES = ['sync_meta', 'merkle_epochs', 'sync_halt'] as const;
export const CONTROL_RIGHTS = ['CREATE', 'INSERT', 'UPDATE', 'DELETE'] as const;
