import type { ChainNetwork } from '../../coin/chains.ts';
import { NodeRpc } from '../../coin/node/node-rpc.ts';
import { type NodeConfig, networkOf, nodeRpcOf } from '../../config/node.ts';
import type { FrameConfig } from '../../config/service.ts';
import type { Logger } from '../../log.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { openServiceBase, type ServiceBase } from '../../service/base.ts';
import { type HttpApp, type ListenPlace, listen } from '../../service/ingress/listen.ts';
import type { RpcAppDeps } from '../../service/rpc-frame.ts';
import { stopInOrder } from '../../service/stop-order.ts';
import type { RunningService } from './run-service.ts';

/** Parts of a service that uses a coin node. */
interface NodeServiceParts extends RpcAppDeps, Pick<ServiceBase, 'trace'> {
  readonly rpc: NodeRpc;
  readonly network: ChainNetwork;
}

/** A service that works on its main thread and uses a coin node. */
interface NodeService {
  readonly name: 'encoder' | 'miner';
  readonly config: NodeConfig & Pick<FrameConfig, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'SHUTDOWN_GRACE_MS'>;
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
export async function startAtNode({ name, config, log, place, retries, open }: NodeService): Promise<RunningService> {
  const network = networkOf(config);
  const rpc = new NodeRpc({ ...nodeRpcOf(config), retries });
  const metrics = createMetrics({ service: name, actors: () => [] });
  const base = await openServiceBase(name, config.OTEL_EXPORTER_OTLP_ENDPOINT, metrics);
  const serves = (code: string) => code.toUpperCase() === network.code;
  const { app, run } = open({ ...base, log, rpc, network, serves });
  await listen(app, { ...place, service: name, log });
  const stopping = new AbortController();
  const ended = run(stopping.signal);
  return {
    ended,
    stop: () =>
      stopInOrder({
        graceMs: config.SHUTDOWN_GRACE_MS,
        closeDoor: () => app.close(),
        endWork: async () => {
          stopping.abort();
          await ended.catch(() => undefined);
        },
        closeRest: [() => rpc.close(), () => base.close()]
      })
  };
}
