import type { Protocol } from '../../../actors/runtime/channel.ts';
import { actorEntry } from '../../../actors/runtime/supervision/actor-handle.ts';
import { Supervisor } from '../../../actors/runtime/supervision/supervisor.ts';
import type { FrameConfig } from '../../config/service.ts';
import type { Logger } from '../../log.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { openServiceBase } from '../../service/base.ts';
import { type FrontDoor, type ListenPlace, listen } from '../../service/ingress/listen.ts';
import type { ServiceActors } from '../../service/routes/debug.ts';
import type { RpcAppDeps } from '../../service/rpc-frame.ts';
import type { ActorId } from '../../wire/actor.ts';
import type { Pipeline } from '../../wire/pipeline.ts';
import type { ActorReport } from '../../wire/report.ts';
import type { RunningService } from './run-service.ts';

/** What is known of a loop from outside of its thread. */
interface LoopView<Report> {
  /** Null before the first word; after the loop's death the last one. */
  readonly report: Report | null;
  /** What ended the loop; null while it lives. */
  readonly crash: string | null;
}

type LoopSupervisor<Report, Asks extends Protocol> = Supervisor<
  Asks,
  Record<never, never>,
  { report: Report },
  ActorId
>;

/** What a service's front door is made of. */
interface DoorParts<Report, Asks extends Protocol> extends RpcAppDeps {
  readonly view: () => LoopView<Report>;
  readonly actors: ServiceActors;
  readonly supervisor: LoopSupervisor<Report, Asks>;
}

/** A service of one network: a loop in a thread of its own, and a front door that answers from what the loop last said. */
export interface SupervisedService<Report, Asks extends Protocol> {
  readonly id: ActorId & { readonly kind: 'decoder' | 'explorer' | 'indexer' | 'tracker' };
  /** The public code of its network, such as LTC. */
  readonly code: string;
  readonly config: Pick<FrameConfig, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'SHUTDOWN_GRACE_MS'>;
  readonly log: Logger;
  readonly place: Omit<ListenPlace, 'service' | 'log'>;
  readonly workerData: object;
  readonly reportOf: (report: Report) => ActorReport;
  readonly pipeline: (view: LoopView<Report>) => Pipeline;
  readonly createApp: (parts: DoorParts<Report, Asks>) => FrontDoor;
}

/**
 * Starts the front door, then the loop.
 *
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID
 */
export async function startSupervised<Report, Asks extends Protocol>(
  service: SupervisedService<Report, Asks>
): Promise<RunningService> {
  const { id, code, config, log, place, workerData, reportOf, pipeline, createApp } = service;
  const fatal = Promise.withResolvers<void>();
  let last: Report | null = null;
  const reportNow = () => (last === null ? undefined : reportOf(last));
  const metrics = createMetrics({
    service: id.kind,
    actors: () => supervisor.list().map((actor) => ({ actor, report: reportNow() }))
  });
  const base = await openServiceBase(id.kind, config.OTEL_EXPORTER_OTLP_ENDPOINT, metrics);
  const supervisor = new Supervisor<Asks, Record<never, never>, { report: Report }, ActorId>({
    log,
    handlers: {},
    ...base.observers,
    listeners: { report: (report: Report) => keepReport(report) },
    onFatal: fatal.reject
  });
  const keepReport = (report: Report) => {
    const before = reportNow()?.height ?? null;
    last = report;
    const height = reportOf(report).height;
    if (before === null || height === null || height <= before) return;
    supervisor.timeline.add(id, { kind: 'blocks', at: Date.now(), direction: 'in', first: before + 1, last: height });
  };
  const view = (): LoopView<Report> => {
    const [actor] = supervisor.list();
    return {
      report: actor?.state === 'starting' ? null : last,
      crash: actor?.state === 'starting' ? null : (actor?.reason?.message ?? null)
    };
  };
  const app = createApp({
    ...base,
    log,
    view,
    supervisor,
    serves: (asked) => asked.toUpperCase() === code,
    actors: {
      list: () => supervisor.list(),
      timeline: supervisor.timeline,
      control: supervisor,
      describe: () => ({ report: reportNow() ?? null }),
      pipeline: () => pipeline(view())
    }
  });
  await listen(app, { ...place, service: id.kind, log });
  supervisor.start({ id, kind: id.kind, entry: actorEntry(id.kind), workerData });
  return {
    ended: fatal.promise,
    stop: async () => {
      await supervisor.stopAll(config.SHUTDOWN_GRACE_MS);
      await app.close();
      await base.close();
    }
  };
}
