import type { FastifyInstance } from 'fastify';
import type { IndexerConfig } from '../../config/indexer.ts';
import { createFrame, type ServiceDefinition } from '../../service/frame.ts';
import { readinessOf } from './health.ts';
import { type IndexerMethodDeps, indexerMethods } from './methods.ts';

/** What the indexer's front door is handed by its process. */
export interface IndexerAppDeps
  extends Pick<ServiceDefinition, 'version' | 'log' | 'actors' | 'metrics' | 'consoleFiles' | 'tracing'>,
    IndexerMethodDeps {
  readonly config: ServiceDefinition['config'] & Pick<IndexerConfig, 'INDEXER_API_KEY' | 'INDEXER_RATE_LIMIT_RPM'>;
  /** Whether a public code, such as LTC, is that of its network. */
  readonly serves: (code: string) => boolean;
}

const BODY_LIMIT_BYTES = 100_000;

/**
 * The indexer's front door: JSON-RPC in the frame of every service.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createIndexerApp(deps: IndexerAppDeps): FastifyInstance {
  const { config, view } = deps;
  return createFrame({
    ...deps,
    name: 'indexer',
    keys: { readers: config.INDEXER_API_KEY },
    documentation: {
      title: 'platform-node indexer',
      description:
        'Carries out the actions of a decoder database and writes the ledger.\n\nJSON-RPC is open; all else needs the key where there is one.',
      tags: ['State', 'JSON-RPC', 'Operator', 'Documentation'],
      keys: 'INDEXER_API_KEY, when it is set'
    },
    readiness: () => readinessOf(view()),
    rpc: {
      methods: indexerMethods(deps),
      requestsPerMinute: config.INDEXER_RATE_LIMIT_RPM,
      bodyLimitBytes: BODY_LIMIT_BYTES,
      serves: deps.serves
    }
  });
}
