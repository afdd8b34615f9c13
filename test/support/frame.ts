import type { FastifyInstance } from 'fastify';
import { loadConfig } from '../../src/config/load.ts';
import { frameVariables } from '../../src/config/service.ts';
import { silentLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { createFrame, type ServiceDefinition } from '../../src/service/frame.ts';
import { NO_ACTORS } from '../../src/service/life/no-actors.ts';
import type { RpcOptions } from '../../src/service/rpc/json-rpc.ts';

/** Configuration of a frame without any setting. */
export const FRAME_CONFIG = loadConfig(frameVariables, { env: {} }).values;

/** A service of which nothing is to be said but what the options say. */
export function definitionOf(options: Partial<ServiceDefinition> = {}): ServiceDefinition {
  return {
    name: 'test',
    version: '0.0.0',
    config: FRAME_CONFIG,
    log: silentLogger,
    keys: {},
    documentation: { title: 'test', description: 'A test.', tags: ['State', 'JSON-RPC', 'Operator'], keys: 'none' },
    readiness: () => 'ready',
    actors: NO_ACTORS,
    metrics: createMetrics({ service: 'test', actors: () => [] }),
    consoleFiles: new Map(),
    ...options
  };
}

/** A service with these methods. @param keys what it takes as a key */
export function openRpc(
  rpc: Pick<RpcOptions, 'methods'> & Partial<RpcOptions>,
  options: Partial<ServiceDefinition> = {}
): FastifyInstance {
  const whole = { requestsPerMinute: 1_000_000, bodyLimitBytes: 1_000_000, serves: () => false, ...rpc };
  return createFrame(definitionOf({ rpc: whole, ...options }));
}
