import type { FastifyInstance } from 'fastify';
import type { IndexerConfig } from '../../config/services/indexer.ts';
import type { ServiceDefinition } from '../../service/frame.ts';
import { createRpcFrame, type RpcAppDeps } from '../../service/life/rpc-frame.ts';
import { readinessOf } from './health.ts';
import { type IndexerMethodDeps, indexerMethods } from './methods.ts';

/** Dependencies of the indexer's front door. */
interface IndexerAppDeps extends RpcAppDeps, Pick<ServiceDefinition, 'actors'>, IndexerMethodDeps {
  readonly config: ServiceDefinition['config'] & Pick<IndexerConfig, 'INDEXER_API_KEY' | 'INDEXER_RATE_LIMIT_RPM'>;
}

/** Creates the indexer's front door: JSON-RPC in the frame of every service.  @throws {PlatformError} CONFIG_INVALID */
export function createIndexerApp(deps: IndexerAppDeps): FastifyInstance {
  const { config, view } = deps;
  return createRpcFrame({
    ...deps,
    name: 'indexer',
    readers: config.INDEXER_API_KEY,
    description:
      'Carries out the actions of a decoder database and writes the ledger.\n\nJSON-RPC is open; all else needs the key where there is one.',
    readiness: () => readinessOf(view()),
    rpc: {
      methods: indexerMethods(deps),
      requestsPerMinute: config.INDEXER_RATE_LIMIT_RPM,
      serves: deps.serves
    }
  });
}
