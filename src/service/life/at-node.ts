import type { ChainNetwork } from '../../coin/chains.ts';
import { NodeRpc } from '../../coin/node/node-rpc.ts';
import { type NodeConfig, networkOf, nodeRpcOf } from '../../config/node.ts';
import type { FrameConfig, StateConfig } from '../../config/service.ts';
import type { TracingConfig } from '../../config/tracing.ts';
import type { Logger } from '../../log.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { describeNode } from '../../observe/metrics/node.ts';
import type { OpenedBy, RunningService } from '../define.ts';
import type { HttpApp, ListenPlace } from '../ingress/listen.ts';
import type { ServiceBase } from './base.ts';
import { openService } from './open-service.ts';
import type { RpcAppDeps } from './rpc-frame.ts';

/** Parts of a service that uses a coin node. */
interface NodeServiceParts extends RpcAppDeps, Pick<ServiceBase, 'trace'> {
  readonly rpc: NodeRpc;
  readonly network: ChainNetwork;
}

/** A service that works on its main thread and uses a coin node. */
interface NodeService {
  readonly service: OpenedBy;
  readonly config: NodeConfig & StateConfig & TracingConfig & Pick<FrameConfig, 'SHUTDOWN_GRACE_MS'>;
  readonly log: Logger;
  readonly place: Omit<ListenPlace, 'service' | 'log'>;
  /** Further attempts of a call that got no answer. */
  readonly retries: number;
  /** Creates the front door and the work. `run` works until the signal and rejects when it cannot continue. */
  readonly open: (parts: NodeServiceParts) => {
    readonly app: HttpApp;
    readonly run: (signal: AbortSignal) => Promise<void>;
  };
}

/** Starts the front door, then the work. @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID */
export async function startAtNode({
  service,
  config,
  log,
  place,
  retries,
  open
}: NodeService): Promise<RunningService> {
  const network = networkOf(config);
  const rpc = new NodeRpc({ ...nodeRpcOf(config), retries });
  const serves = (code: string) => code.toUpperCase() === network.code;
  const stopping = new AbortController();
  let working: Promise<void> | undefined;
  const opened = await openService({
    service,
    config,
    log,
    place,
    metrics: createMetrics({
      service: service.name,
      actors: () => [],
      describe: (registry) => describeNode(registry, service.name, rpc)
    }),
    open: (base) => ({
      ...open({ ...base, log, rpc, network, serves }),
      endWork: async () => {
        stopping.abort();
        await working?.catch(() => undefined);
      },
      closeRest: [() => rpc.close()]
    })
  });
  working = opened.run(stopping.signal);
  return { ended: working, stop: opened.stop };
}
