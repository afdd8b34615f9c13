import type { FastifyInstance } from 'fastify';
import type { AcceptedTokens } from '../callers/auth.ts';
import { createFrame, type ServiceDefinition } from '../frame.ts';
import type { RpcOptions } from '../rpc/json-rpc.ts';

/** Dependencies of the front door of a service with JSON-RPC. */
export interface RpcAppDeps
  extends Pick<ServiceDefinition, 'version' | 'log' | 'metrics' | 'consoleFiles' | 'tracing' | 'stateDirectory'> {
  /** Whether a public code, such as LTC, is that of its network. */
  readonly serves: (code: string) => boolean;
}

/** A service of one network whose face is JSON-RPC. */
interface RpcService extends Omit<ServiceDefinition, 'keys' | 'documentation' | 'rpc'> {
  /** Paragraphs for `/docs`, with a blank line between them. */
  readonly description: string;
  /** Value of its variable `<NAME>_API_KEY`. */
  readonly readers: AcceptedTokens['readers'];
  /** Name of that variable where it is another. */
  readonly keyVariable?: string;
  /** Bodies have at most 100 kB unless it says otherwise. */
  readonly rpc: Omit<RpcOptions, 'bodyLimitBytes'> & Partial<Pick<RpcOptions, 'bodyLimitBytes'>>;
}

const BODY_LIMIT_BYTES = 100_000;

/**
 * Creates the frame of such a service; its name is in the title of its documents and in the variable of its key.
 *
 * @throws {PlatformError} CONFIG_INVALID
 */
export function createRpcFrame({ description, readers, keyVariable, rpc, ...service }: RpcService): FastifyInstance {
  return createFrame({
    ...service,
    keys: { readers },
    documentation: {
      title: `platform-node ${service.name}`,
      description,
      tags: ['State', 'JSON-RPC', 'Operator', 'Documentation'],
      keys: `${keyVariable ?? `${service.name.toUpperCase()}_API_KEY`}, when it is set`
    },
    rpc: { bodyLimitBytes: BODY_LIMIT_BYTES, ...rpc }
  });
}
