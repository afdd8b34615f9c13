import { posix } from 'node:path';

/** Every room that stands lower in the list. */
const BELOW = 'everything below';
const BASICS = ['src/wire/', 'src/consensus/', 'src/errors.ts', 'src/transient-map.ts', 'src/sparse-lines.ts'];
const TABLES = ['src/replication/tables/', 'src/db/'];
/** A replica's tables, and what is applied to them. */
const REPLICA = ['src/replication/replica/apply/', 'src/replication/replica/database/'];
/** The actor's end of a thread, and what both ends share. */
const THREAD = ['actors/runtime/thread/', 'actors/runtime/'];
const FASTIFY = ['fastify', '@fastify/', 'typebox'];
/** The room of each service's definition, and of what puts the service together. */
const COMPOSITIONS = 'src/<service>/{service,start}';
const COMPOSITION_FILE = /^src\/(?!config\/)[\w-]+\/(?:service\.ts|start\.ts|start\/.+)$/;

/**
 * Each room from the top to the bottom of the house, then the packages and rooms that it may import; itself is always free.
 * After `type` stands what only `import type` may name.
 *
 * Imports point down: a room may name only rooms that stand below it, `import type` included, so there is no cycle of rooms. A file
 * is in the room with the longest prefix that fits it.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'scripts/documents/': ['node:', 'playwright-core', 'xstate', BELOW],
  'scripts/build/': [
    'node:',
    'esbuild',
    'package.json',
    'scripts/charts/',
    'scripts/',
    'type src/process/',
    'machines/all.ts'
  ],
  'scripts/testing/': ['node:', 'scripts/', 'src/devnet/'],
  'scripts/charts/': ['elkjs/', 'type xstate'],
  'scripts/': ['node:'],
  // The console runs in a browser: it shares records with the services and no code of theirs.
  'web/': ['@noble/hashes/', 'type src/sync/fan-out/', 'type src/service/', 'src/wire/'],
  // The compositions: they know every room and hold no logic of one.
  // A guardian: `src/cli/` is loaded by a dynamic import, in other processes.
  'src/main.ts': ['src/cli/', 'src/services.ts', 'src/process/', 'src/config/'],
  // The modules that package.json exports: for Node without this program.
  'src/library/': ['machines/all.ts', 'src/consensus/', 'src/wire/'],
  'src/cli/': ['node:', 'typebox', BELOW],
  'src/devnet/': ['node:', 'mysql2/promise', '@nats-io/', BELOW],
  // A platform of one network on one machine, for `up` and the devnet.
  'src/installation/': ['node:', 'src/service/', 'src/db/', 'src/process/', 'src/config/', 'src/coin/', ...BASICS],
  'src/services.ts': [COMPOSITIONS, 'type src/service/'],
  [COMPOSITIONS]: ['node:', BELOW],
  'src/discovery/': ['src/hub/', 'src/config/', 'src/coin/', 'src/log.ts', 'src/errors.ts'],
  'src/telemetry/': ['node:', 'typebox', 'src/coin/', 'src/config/', ...BASICS],
  'src/capacity/': [],
  // It shares no code with the replication on purpose.
  'src/verify/': ['mysql2/promise', 'src/errors.ts'],
  'src/edge/': ['node:', 'type fastify', BELOW],
  'src/sync/': ['node:', 'fastify', BELOW],
  'src/hub/': [
    'node:',
    ...FASTIFY,
    'maxmind',
    'type ws',
    'src/hub/store/',
    'src/config/',
    'src/config/nearest.ts',
    'src/coin/',
    'src/hub/config-edits.ts',
    'src/hub/federation/journal/',
    'src/hub/federation/rounds/',
    'src/hub/federation/matters/',
    'type src/hub/federation/node/',
    'src/service/',
    'type src/log.ts',
    ...BASICS
  ],
  'actors/hub/': ['node:', 'src/hub/store/', 'type machines/runtime/', ...THREAD, 'src/log.ts', ...BASICS],
  'actors/prices/': ['node:', 'src/hub/store/', 'src/hub/oracle/', 'actors/runtime/thread/', 'src/log.ts', ...BASICS],
  'actors/validator/': [
    'node:',
    'src/hub/federation/node/',
    'src/db/',
    'actors/runtime/thread/',
    'src/log.ts',
    ...BASICS
  ],
  // Logs of hubs as files, for the command line.
  'src/hub/federation/audit/': [
    'src/hub/federation/journal/',
    'src/hub/federation/gossip/',
    'src/hub/federation/transfer/',
    'src/hub/federation/consensus/',
    'src/errors.ts'
  ],
  'src/hub/federation/node/': [
    'src/hub/federation/journal/',
    'src/hub/federation/gossip/',
    'xstate',
    'src/hub/federation/transfer/',
    'src/hub/federation/consensus/',
    'src/hub/federation/rounds/',
    'src/hub/federation/matters/',
    'machines/hub/',
    'type src/db/',
    'src/consensus/',
    'type src/log.ts',
    'src/sparse-lines.ts',
    'src/errors.ts'
  ],
  'src/hub/federation/journal/': [
    'node:',
    'src/hub/federation/transfer/',
    'src/hub/federation/consensus/',
    'src/hub/federation/rounds/',
    'src/hub/federation/matters/',
    'src/hub/config-edits.ts',
    'src/hub/store/',
    'src/coin/',
    'src/consensus/',
    'src/db/',
    'src/errors.ts'
  ],
  'src/hub/federation/gossip/': [
    'node:',
    'ws',
    'xstate',
    'src/hub/federation/consensus/',
    'src/hub/federation/rounds/',
    'type src/hub/federation/matters/',
    'machines/hub/',
    'src/consensus/'
  ],
  'src/hub/federation/transfer/': ['node:', 'type src/hub/federation/consensus/', 'src/consensus/'],
  'src/hub/federation/consensus/': [],
  // Rounds of prices: functions of what hubs signed.
  'src/hub/federation/rounds/': ['src/hub/oracle/', 'src/coin/', 'src/consensus/', 'type machines/hub/'],
  // Attestations, swaps, reorgs and proposals: functions of what the log has.
  'src/hub/federation/matters/': ['src/hub/store/', 'machines/hub/', 'src/coin/', 'src/consensus/'],
  'src/hub/config-edits.ts': ['node:', 'type src/hub/store/', 'src/config/', 'src/errors.ts'],
  'src/hub/store/': [
    'node:',
    'xstate',
    'src/hub/oracle/',
    'src/db/',
    'machines/hub/',
    'machines/runtime/',
    'src/coin/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/hub/oracle/': [
    'node:',
    'xstate',
    'machines/hub/',
    'src/service/',
    'type src/config/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/encoder/': [
    'node:',
    ...FASTIFY,
    'lru-cache',
    'src/encoder/creation/',
    'src/encoder/tracker/',
    'src/encoder/coins/',
    'src/encoder/transaction/',
    'src/coin/',
    'src/service/',
    'type src/config/',
    ...BASICS
  ],
  'src/encoder/tracker/': ['node:', 'typebox', 'src/encoder/coins/', 'src/service/', ...BASICS],
  'src/encoder/creation/': [
    'node:',
    'typebox',
    '@scure/btc-signer/',
    'src/encoder/coins/',
    'src/encoder/transaction/',
    'src/coin/',
    ...BASICS
  ],
  'src/encoder/coins/': [
    'node:',
    'typebox',
    'lru-cache',
    'type src/encoder/transaction/',
    'src/coin/',
    'src/service/',
    ...BASICS
  ],
  'src/encoder/transaction/': ['@scure/btc-signer/', '@noble/curves/', 'src/coin/', 'src/errors.ts'],
  'src/miner/': ['node:', ...FASTIFY, 'src/coin/', 'src/service/', 'type src/config/', 'type src/log.ts', ...BASICS],
  // Routes and what they share know no actor: they are handed a directory.
  'src/sync/routes/': ['node:', ...FASTIFY, 'src/sync/http/', 'src/replication/snapshot/', 'src/service/', ...BASICS],
  'src/sync/http/': [
    'node:',
    ...FASTIFY,
    'src/replication/snapshot/',
    'src/service/',
    'src/observe/',
    ...BASICS,
    'type src/sync/fan-out/',
    'type src/sync/relay/',
    'type src/observe/metrics/',
    'type src/replication/protocol.ts',
    'type src/config/',
    'type src/log.ts'
  ],
  'src/sync/fan-out/': [
    'node:',
    'ws',
    'xstate',
    'machines/sync/',
    'src/service/',
    ...BASICS,
    'type src/replication/source/reading/',
    'type src/config/',
    'type src/log.ts'
  ],
  // What it loads of NATS it imports where it connects, so that a server without streams loads none of it.
  'src/sync/relay/': [
    'node:',
    '@nats-io/',
    'type src/replication/source/reading/',
    'type src/config/',
    'type src/log.ts',
    ...BASICS
  ],
  'actors/decoder/': [
    'node:',
    'type workers/decoder/',
    'src/decoder/',
    'src/follower/',
    'actors/runtime/thread/',
    'machines/follower/',
    'src/coin/'
  ],
  'actors/tracker/': [
    'node:',
    'type workers/tracker/',
    'src/tracker/',
    'src/follower/',
    ...THREAD,
    'machines/follower/',
    'src/coin/'
  ],
  'workers/tracker/': ['src/tracker/', 'src/follower/', 'src/coin/'],
  'src/tracker/': [
    'node:',
    ...FASTIFY,
    'type mysql2/promise',
    'src/follower/',
    'src/db/',
    'src/coin/',
    'src/service/',
    'type src/config/',
    'type src/log.ts',
    ...BASICS
  ],
  'workers/decoder/': ['lru-cache', 'src/decoder/', 'src/follower/', 'src/coin/', 'src/errors.ts'],
  'src/decoder/': [
    'node:',
    'lru-cache',
    ...FASTIFY,
    'type mysql2/promise',
    'src/db/',
    'src/follower/',
    'src/coin/',
    'src/service/',
    'type src/config/',
    'type src/log.ts',
    ...BASICS
  ],
  'actors/indexer/': [
    'node:',
    'src/indexer/api/',
    'src/indexer/loop/',
    'src/indexer/profile/',
    'actors/runtime/thread/',
    'src/coin/',
    'src/wire/',
    'src/log.ts'
  ],
  // From what asks a ledger down to what it is made of: each step knows those below it only.
  'src/indexer/api/': [
    ...FASTIFY,
    'src/indexer/trial/',
    'type src/indexer/loop/',
    'src/follower/',
    'src/indexer/store/',
    'src/indexer/actions/',
    'src/indexer/staking/',
    'src/indexer/fees/',
    'src/indexer/profile/',
    'src/service/',
    'src/db/',
    'src/coin/',
    'type src/config/',
    ...BASICS
  ],
  'src/indexer/trial/': [
    'node:',
    'src/indexer/store/',
    'src/indexer/block/',
    'src/indexer/rules/',
    'src/indexer/fees/',
    'src/indexer/profile/',
    'src/indexer/state/',
    'src/db/',
    'src/coin/',
    ...BASICS
  ],
  'src/indexer/loop/': [
    'node:',
    'xstate',
    'src/indexer/store/',
    'src/indexer/pushes/',
    'src/indexer/block/',
    'src/indexer/profile/',
    'type src/indexer/state/',
    'src/follower/',
    'src/replication/commitment/',
    'type workers/sync/',
    ...THREAD,
    'machines/indexer/',
    'type machines/follower/',
    'src/db/',
    'src/coin/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/indexer/store/': [
    'node:',
    'src/indexer/pushes/',
    'src/indexer/block/',
    'src/indexer/actions/',
    'src/indexer/offers/',
    'src/indexer/staking/',
    'src/indexer/rules/',
    'type src/indexer/profile/',
    'src/indexer/state/',
    'src/indexer/definitions/',
    'src/db/',
    ...BASICS
  ],
  'src/indexer/pushes/': [
    'xstate',
    'type src/indexer/block/',
    'src/indexer/rules/',
    'type src/indexer/state/',
    'src/indexer/definitions/',
    'actors/runtime/thread/',
    'machines/indexer/',
    'src/service/',
    'src/db/',
    'type src/log.ts',
    ...BASICS
  ],
  // From here on nothing is read or written but through the state that a block is handed.
  'src/indexer/block/': [
    'node:',
    'src/indexer/actions/',
    'src/indexer/polls/',
    'src/indexer/offers/',
    'src/indexer/staking/',
    'src/indexer/rules/',
    'src/indexer/fees/',
    'src/indexer/profile/',
    'src/indexer/state/',
    'src/coin/',
    'src/consensus/'
  ],
  'src/indexer/actions/': [
    'src/indexer/offers/',
    'src/indexer/staking/',
    'src/indexer/rules/',
    'src/indexer/fees/',
    'src/indexer/profile/',
    'src/indexer/state/',
    'src/coin/',
    'src/consensus/'
  ],
  'src/indexer/polls/': ['src/indexer/staking/', 'src/indexer/rules/', 'src/indexer/state/', 'src/consensus/'],
  'src/indexer/offers/': [
    'src/indexer/rules/',
    'src/indexer/fees/',
    'src/indexer/profile/',
    'src/indexer/state/',
    'src/coin/',
    'src/consensus/'
  ],
  'src/indexer/staking/': ['src/indexer/rules/', 'src/indexer/state/', 'src/coin/', 'src/consensus/'],
  'src/indexer/rules/': [
    'src/indexer/fees/',
    'type src/indexer/profile/',
    'src/indexer/state/',
    'src/coin/',
    'src/consensus/'
  ],
  'src/indexer/fees/': ['src/indexer/profile/', 'src/indexer/state/', 'src/coin/', 'src/consensus/'],
  'src/indexer/profile/': ['lru-cache', 'type src/indexer/state/', 'type src/db/', 'src/coin/', 'src/consensus/'],
  'src/indexer/state/': ['src/coin/', 'src/consensus/'],
  'src/indexer/definitions/': ['src/db/', ...BASICS],
  'src/follower/': [
    'node:',
    'xstate',
    'type mysql2/promise',
    ...THREAD,
    'machines/follower/',
    'src/db/',
    'src/coin/',
    'type src/service/',
    'src/log.ts',
    ...BASICS
  ],
  'actors/explorer/': [
    'node:',
    'xstate',
    'src/explorer/',
    'machines/explorer/',
    'actors/runtime/thread/',
    'src/coin/',
    'src/log.ts',
    ...BASICS
  ],
  'src/explorer/': [
    'node:',
    'lru-cache',
    ...FASTIFY,
    'mysql2/promise',
    'src/db/',
    'src/coin/',
    'src/service/',
    'src/config/nearest.ts',
    'type ws',
    'type src/config/',
    'type src/log.ts',
    ...BASICS
  ],
  'actors/source/': [
    'node:',
    'xstate',
    'src/replication/source/',
    'src/replication/source/answers/',
    'src/replication/source/feed/',
    'type src/replication/protocol.ts',
    'src/db/',
    ...THREAD,
    'machines/sync/',
    'src/log.ts',
    ...BASICS
  ],
  'actors/replica/': [
    'node:',
    'xstate',
    'src/replication/replica/',
    'src/replication/replica/bootstrap/',
    'src/replication/replica/following/',
    'src/replication/replica/catch-up/',
    'src/replication/replica/verifying/',
    'src/replication/replica/quorum/',
    'src/replication/replica/parts/',
    'src/replication/commitment/',
    'type src/replication/protocol.ts',
    ...THREAD,
    'machines/sync/',
    'src/log.ts',
    ...BASICS
  ],
  'src/replication/source/': [
    'src/replication/source/answers/',
    'src/replication/source/feed/',
    'src/replication/commitment/',
    'type src/replication/protocol.ts',
    'src/replication/source/reading/',
    'src/db/',
    'actors/runtime/thread/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/source/answers/': [
    'node:',
    'type src/replication/source/feed/',
    'type src/replication/protocol.ts',
    'src/replication/snapshot/',
    'src/replication/source/changes/',
    'src/replication/source/reading/',
    'src/replication/ddl/',
    ...TABLES,
    'actors/runtime/',
    ...BASICS
  ],
  'src/replication/source/feed/': [
    'node:',
    'xstate',
    'type src/replication/commitment/',
    'type src/replication/protocol.ts',
    'src/replication/source/reading/',
    'src/replication/source/binlog/',
    ...TABLES,
    'type actors/runtime/thread/',
    'machines/sync/',
    'src/observe/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/replica/': [
    'src/replication/replica/bootstrap/',
    'type src/replication/replica/catch-up/',
    'type src/replication/replica/following/',
    'type src/replication/replica/verifying/',
    'type src/replication/replica/quorum/',
    'src/replication/replica/parts/',
    'src/replication/replica/apply/',
    'type src/replication/protocol.ts',
    ...TABLES,
    ...THREAD,
    'type machines/sync/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/replica/catch-up/': [
    'src/replication/replica/bootstrap/',
    'src/replication/replica/quorum/',
    'src/replication/replica/parts/',
    'src/replication/snapshot/',
    'src/replication/client/',
    ...REPLICA,
    ...TABLES,
    'actors/runtime/thread/',
    'type machines/sync/',
    ...BASICS
  ],
  'src/replication/replica/bootstrap/': [
    'src/replication/replica/quorum/',
    'src/replication/replica/parts/',
    'src/replication/snapshot/',
    'src/replication/client/',
    'src/replication/replica/load/',
    ...REPLICA,
    'src/replication/ddl/',
    ...TABLES,
    'type machines/sync/',
    ...BASICS
  ],
  'src/replication/replica/following/': [
    'type src/replication/replica/verifying/',
    'type src/replication/replica/quorum/',
    'src/replication/replica/parts/',
    'src/replication/replica/load/',
    ...REPLICA,
    'type machines/sync/',
    'src/observe/',
    ...BASICS
  ],
  'src/replication/replica/verifying/': [
    'xstate',
    'src/replication/replica/parts/',
    'type src/replication/client/',
    'src/replication/replica/compare/',
    'src/replication/replica/database/',
    ...TABLES,
    'actors/runtime/thread/',
    'machines/sync/',
    'src/observe/',
    ...BASICS
  ],
  'src/replication/replica/quorum/': [
    'node:',
    'xstate',
    'type src/replication/replica/parts/',
    'src/replication/snapshot/',
    'src/replication/client/',
    'actors/runtime/thread/',
    'src/db/',
    'machines/sync/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/replica/parts/': [
    'node:',
    'xstate',
    'type src/replication/commitment/',
    'type src/replication/protocol.ts',
    'src/replication/client/',
    ...REPLICA,
    'src/replication/ddl/',
    ...TABLES,
    'machines/runtime/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/commitment/': [
    'node:',
    'xstate',
    'type src/replication/protocol.ts',
    ...REPLICA,
    'type src/replication/source/reading/',
    ...TABLES,
    'actors/runtime/thread/',
    'machines/sync/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/protocol.ts': [
    'type workers/sync/',
    'type src/replication/client/',
    'type src/replication/source/reading/',
    'type actors/runtime/',
    'type src/wire/',
    'type src/consensus/'
  ],
  'workers/sync/': ['node:', 'src/replication/snapshot/', 'src/replication/source/reading/', 'src/db/', ...BASICS],
  'src/replication/snapshot/': [
    'node:',
    'lru-cache',
    'type src/replication/replica/database/',
    'type src/replication/source/reading/',
    'src/db/',
    'src/observe/',
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/client/': ['node:', 'typebox', 'undici', 'ws', 'src/observe/', ...BASICS],
  'src/replication/replica/compare/': [...REPLICA, ...TABLES, ...BASICS],
  'src/replication/replica/apply/': ['src/replication/replica/database/', 'src/replication/ddl/', ...TABLES, ...BASICS],
  'src/replication/replica/load/': [
    'node:',
    'type mysql2/promise',
    'src/replication/replica/database/',
    'src/db/',
    ...BASICS
  ],
  'src/replication/replica/database/': ['node:', ...TABLES, ...BASICS],
  'src/replication/source/reading/': [
    'node:',
    'src/replication/source/changes/',
    'type src/replication/source/binlog/',
    ...TABLES,
    'src/coin/',
    ...BASICS
  ],
  'src/replication/source/binlog/': [
    'node:',
    '@vlasky/zongji',
    'src/replication/source/changes/',
    ...TABLES,
    'type src/log.ts',
    ...BASICS
  ],
  'src/replication/source/changes/': [...TABLES, ...BASICS],
  'src/replication/ddl/': [...TABLES, ...BASICS],
  'src/replication/tables/': ['node:', 'src/db/', ...BASICS],
  'src/service/life/supervised.ts': [
    'node:',
    'actors/runtime/supervision/',
    'type actors/runtime/',
    'src/service/',
    'src/observe/metrics/',
    'type src/config/',
    'type src/log.ts',
    'src/wire/'
  ],
  'src/service/life/at-node.ts': [
    'src/service/',
    'src/observe/metrics/',
    'src/config/',
    'src/coin/',
    'type src/log.ts'
  ],
  'src/service/run.ts': ['node:', 'type src/service/', 'src/process/', 'type src/config/', 'src/log.ts'],
  'src/service/': [
    'node:',
    'ws',
    'package.json',
    ...FASTIFY,
    'src/sparse-lines.ts',
    'src/observe/tracing.ts',
    'src/observe/',
    'src/process/',
    'src/coin/',
    'src/wire/',
    'src/transient-map.ts',
    'src/errors.ts',
    'type src/observe/metrics/',
    'type src/config/',
    'type src/log.ts'
  ],
  'src/observe/metrics/': ['node:', 'prom-client', 'src/observe/', 'src/wire/'],
  'actors/runtime/supervision/': [
    'node:',
    'xstate',
    'actors/runtime/',
    'machines/all.ts',
    'machines/runtime/',
    'src/db/',
    'src/process/',
    'type src/observe/',
    'type src/log.ts',
    ...BASICS
  ],
  'actors/runtime/thread/': [
    'node:',
    'xstate',
    'actors/runtime/',
    'machines/runtime/',
    'src/observe/',
    'type src/log.ts',
    ...BASICS
  ],
  'actors/runtime/': ['node:', 'piscina', 'xstate', 'src/process/', 'src/observe/', ...BASICS],
  'src/db/': ['node:', 'mysql2', 'src/observe/', ...BASICS],
  'machines/all.ts': [
    'type xstate',
    'machines/sync/',
    'machines/runtime/',
    'machines/follower/',
    'machines/explorer/',
    'machines/hub/',
    'machines/indexer/'
  ],
  'machines/sync/': ['xstate', 'machines/runtime/', 'src/consensus/', 'src/errors.ts'],
  'machines/explorer/': ['xstate'],
  'machines/indexer/': ['xstate', 'machines/follower/', 'machines/runtime/'],
  'machines/follower/': ['xstate', 'machines/runtime/', 'src/errors.ts'],
  'machines/hub/': ['xstate', 'src/consensus/', 'machines/runtime/'],
  'machines/runtime/': ['xstate', 'type src/wire/', 'src/errors.ts'],
  'src/process/': ['node:', 'package.json', 'src/config/', 'src/log.ts', 'src/errors.ts'],
  'src/config/': ['src/config/nearest.ts', 'node:', 'src/coin/', 'type src/consensus/', 'src/errors.ts'],
  'src/coin/': [
    'node:',
    '@noble/curves/',
    '@scure/base',
    '@scure/btc-signer/',
    'undici',
    'typebox',
    'src/wire/',
    'src/errors.ts'
  ],
  // Loaded by a dynamic import, and only where it is wanted.
  'src/observe/tracing.ts': ['@fastify/otel', '@opentelemetry/', 'type fastify', 'type src/observe/', 'src/wire/'],
  'src/observe/': [],
  'src/log.ts': ['node:', 'pino', 'pino-pretty', 'src/errors.ts'],
  // `node:` is for one file: what a thread may hold is its own to say.
  'src/wire/': ['node:', 'typebox', 'src/errors.ts'],
  'src/consensus/': ['node:crypto', 'src/errors.ts'],
  'src/transient-map.ts': [],
  'src/config/nearest.ts': [],
  'src/sparse-lines.ts': [],
  'src/errors.ts': []
};
/** All rooms, from the top to the bottom. */
export const ROOMS = Object.keys(MAY_IMPORT);

/** Returns the room with the longest prefix that fits a file; undefined: it is in none. */
export function roomOf(path: string): string | undefined {
  if (COMPOSITION_FILE.test(path)) return COMPOSITIONS;
  return ROOMS.filter((prefix) => path.startsWith(prefix)).sort((a, b) => b.length - a.length)[0];
}

interface Import {
  readonly target: string;
  /** It leaves nothing at run time. */
  readonly isType: boolean;
  /** It is loaded when it is asked for. */
  readonly isLazy: boolean;
}

/** Static imports and re-exports, bare imports, and dynamic imports of a literal. */
const IMPORTS = /^(?:import|export) (type )?[^;]*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gms;

/** Returns what a file imports: paths below the root, or packages. */
export function importsOf(file: string, source: string): Import[] {
  return [...source.matchAll(IMPORTS)].map(([, type, fromStatic, bare, dynamic]) => {
    const specifier = fromStatic ?? bare ?? dynamic ?? '';
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(file), specifier) : specifier;
    return { target, isType: type !== undefined, isLazy: dynamic !== undefined };
  });
}

/** Returns a line for each import that the room of a file may not have. */
export function forbiddenImports(file: string, source: string): string[] {
  const room = roomOf(file);
  if (room === undefined) return [`${file} is in no room`];
  const fits = (entry: string, target: string) => {
    const other = roomOf(target);
    if (other === undefined) return target.startsWith(entry);
    return entry === BELOW ? ROOMS.indexOf(other) > ROOMS.indexOf(room) : entry === other;
  };
  const isAllowed = ({ target, isType }: Import) =>
    roomOf(target) === room ||
    MAY_IMPORT[room]!.some((entry) =>
      entry.startsWith('type ') ? isType && fits(entry.slice('type '.length), target) : fits(entry, target)
    );
  return importsOf(file, source)
    .filter((found) => !isAllowed(found))
    .map(({ target, isType }) => `${file} may not import ${isType ? 'types of ' : ''}${target}`);
}
