/** Ending of a long search: each has a short form in a file of the same name without `.slow`. */
const SLOW = '.slow.test.ts';

/**
 * Files that `npm run test:rest` runs, by directory: second forms of what others show, kill loops, crowds, and what waits for real time.
 * All others are `npm test`, which takes about eight minutes on two cores (`time npm test`): all rules of the house, all unit
 * tests, and tests with real parts of each room, from raw input to last effect.
 */
const REST: Readonly<Record<string, readonly string[]>> = {
  'test/e2e': [
    'adoption',
    'away',
    'bad-input',
    'binary',
    'binlog',
    'comparison-beside-blocks',
    'console',
    'devnet',
    'devnet-hubs',
    'digest',
    'doubted-replica',
    'examples',
    'far-behind',
    'hostile',
    'hub-federation',
    'hub-only',
    'kept-state',
    'key-shapes',
    'large-blocks',
    'large-numbers',
    'left-out-tables',
    'new-service',
    'node-tables',
    'operations',
    'other-origin',
    'overview',
    'partial-replica',
    'replication-decoder',
    'replication-indexer',
    'schema-changes',
    'services',
    'settled',
    'shrunk-chain',
    'side-by-side',
    'silence',
    'stand-in-client',
    'stand-in-quorum',
    'stand-in-server',
    'standing-parts',
    'start-order',
    'state-directories',
    'sync-startup',
    'torture',
    'unknown-changes',
    'up',
    'value-matrix'
  ],
  'test/fault': [
    'chain-kill',
    'chaos',
    'digest-crowd',
    'dispenser-kill',
    'edges-chaos',
    'explorer-crowd',
    'explorer-stall',
    'federation-chaos',
    'federation-liars',
    'federation-words',
    'hostile-floods',
    'hostile-readers',
    'hostile-requests',
    'hostile-since',
    'hostile-snapshot',
    'hostile-source',
    'hostile-stream',
    'hostile-waiters',
    'mariadb-restart',
    'replica-backlog',
    'replica-bootstrap',
    'replica-ghost',
    'replica-kill',
    'replica-statements',
    'start-of-many'
  ],
  'test/federation': ['mesh-floods'],
  'test/foreign': ['explorer', 'index-check', 'life', 'rare-rows', 'websocket'],
  'test/integration': ['grants'],
  'test/integration/actors/replica': [
    'changed-source',
    'checkpoints',
    'digest-quorum',
    'restarted-mariadb',
    'roots',
    'schema-quorum',
    'service',
    'source-quorum'
  ],
  'test/integration/actors/source': [
    'asks',
    'broadcast',
    'continuity',
    'digest',
    'faults',
    'hidden-tables',
    'resume',
    'roots',
    'transparency'
  ],
  'test/integration/follower': ['node-behind', 'node-fit', 'rows-refused'],
  'test/integration/cli': ['hub-settings', 'telemetry'],
  'test/integration/decoder': [
    'bitcoin',
    'deep-rollback',
    'dispensers-model',
    'fee-once',
    'forged-reveals',
    'forgotten-dispensers',
    'long-blocks',
    'many-dispensers',
    'open-signatures',
    'raw-blocks',
    'replica',
    'service'
  ],
  'test/integration/devnet': ['payer', 'tables-in-use-ledger'],
  'test/integration/edge': ['hostile-stream', 'live-stream'],
  'test/integration/encoder': ['bitcoin', 'bump', 'extension-block', 'lanes', 'service', 'tracked'],
  'test/integration/explorer': [
    'altered-tables',
    'heavy-questions',
    'lacking-tables',
    'long-records',
    'networks',
    'openapi',
    'other-network',
    'pages',
    'service'
  ],
  'test/integration/hub': [
    'crowd',
    'faults',
    'federation-hubs',
    'federation-publishing',
    'memory',
    'oracle',
    'probe',
    'pushes',
    'retention',
    'set-trouble',
    'stream',
    'telemetry'
  ],
  'test/integration/indexer': [
    'bounded-reads',
    'column-limits',
    'index-check-trades',
    'large-rollback',
    'markets',
    'migrations',
    'paths',
    'pushes',
    'retraction',
    'roots',
    'sanity-time',
    'service',
    'trial-agrees'
  ],
  'test/integration/miner': ['faults'],
  'test/integration/replication/replica': ['digest-compare', 'independent-indexers'],
  'test/integration/replication/source': [
    'binlog-changes',
    'database-mark',
    'forgotten-times',
    'group-reader',
    'late-changes',
    'late-commits'
  ],
  'test/integration/replication/tables': ['digest'],
  'test/integration/sync': ['resume'],
  'test/integration/sync/relay': ['service'],
  'test/integration/sync/routes': ['snapshot-builds'],
  'test/integration/tracker': ['extension-block', 'halt', 'quiescence', 'service'],
  'test/integration/verify': ['differences'],
  'test/model': ['two-places'],
  'test/property': ['longest-rows', 'longest-values'],
  'test/simulation': ['many-steps'],
  'test/unit/indexer': ['cost', 'reference', 'shares']
};

/** Part of the tests that a run is of. */
export type Tier = 'quick' | 'rest' | 'all';

/** Files of `npm run test:rest`. */
export const REST_FILES: ReadonlySet<string> = new Set(
  Object.entries(REST).flatMap(([directory, names]) => names.map((name) => `${directory}/${name}.test.ts`))
);

/** Returns whether a file is a long search. */
export const isSlow = (file: string): boolean => file.endsWith(SLOW);

/** Returns the files of a tier: of `all` with the long searches. @throws {Error} for a long search without its short form */
export function filesOf(tier: Tier, files: readonly string[]): readonly string[] {
  for (const file of files.filter(isSlow))
    if (!files.includes(file.replace(SLOW, '.test.ts'))) throw new Error(`${file} has no short form beside it`);
  if (tier === 'all') return files;
  const short = files.filter((file) => !isSlow(file));
  return short.filter((file) => REST_FILES.has(file) === (tier === 'rest'));
}
