import type { ResourceLimits } from 'node:worker_threads';
import type { Protocol } from '../../../actors/runtime/channel.ts';
import { actorEntry } from '../../../actors/runtime/supervision/actor-handle.ts';
import { KeptPauses } from '../../../actors/runtime/supervision/kept-pauses.ts';
import { Supervisor } from '../../../actors/runtime/supervision/supervisor.ts';
import type { FrameConfig, StateConfig } from '../../config/service.ts';
import type { TracingConfig } from '../../config/tracing.ts';
import type { Logger } from '../../log.ts';
import { createMetrics } from '../../observe/metrics/metrics.ts';
import { type ActorId, type ActorName, actorKey } from '../../wire/state/actor.ts';
import type { LoopView } from '../../wire/state/loop-view.ts';
import type { Pipeline } from '../../wire/state/pipeline.ts';
import type { ActorReport } from '../../wire/state/report.ts';
import type { OpenedBy, RunningService } from '../define.ts';
import type { HttpApp, ListenPlace } from '../ingress/listen.ts';
import type { ServiceActors } from '../routes/debug.ts';
import { LoopWatch } from './loop-watch.ts';
import { openService } from './open-service.ts';
import type { RpcAppDeps } from './rpc-frame.ts';

type LoopSupervisor<Report, Asks extends Protocol> = Supervisor<
  Asks,
  Record<never, never>,
  { report: Report },
  ActorId
>;

/** Parts of a service's front door. */
interface AppParts<Report, Asks extends Protocol> extends RpcAppDeps {
  readonly viewOf: (id: ActorId) => LoopView<Report>;
  readonly actors: ServiceActors;
  readonly supervisor: LoopSupervisor<Report, Asks>;
}

/** A service with loops, each in a thread of its own, and a front door that answers from their last reports. */
interface SupervisedService<Report, Asks extends Protocol> {
  readonly service: OpenedBy;
  /** Returns whether it serves the network with this public code, such as LTC. */
  readonly serves: (code: string) => boolean;
  readonly config: StateConfig & TracingConfig & Pick<FrameConfig, 'SHUTDOWN_GRACE_MS'>;
  readonly log: Logger;
  readonly place: Omit<ListenPlace, 'service' | 'log'>;
  /** Limits of each loop's thread. */
  readonly resourceLimits?: ResourceLimits;
  readonly reportOf: (report: Report) => ActorReport;
  /** Whether each report shows that the loop goes on. Default: its blocks do. */
  readonly isProof?: boolean;
  readonly pipeline: (id: ActorId, view: LoopView<Report>) => Pipeline;
  readonly createApp: (parts: AppParts<Report, Asks>) => HttpApp;
}

/** A service of one network. */
interface NetworkService<Report, Asks extends Protocol>
  extends Omit<SupervisedService<Report, Asks>, 'serves' | 'pipeline' | 'createApp'> {
  readonly id: ActorId;
  /** Public code of its network. */
  readonly code: string;
  readonly workerData: object;
  readonly pipeline: (view: LoopView<Report>) => Pipeline;
  readonly createApp: (
    parts: Omit<AppParts<Report, Asks>, 'viewOf'> & { readonly view: () => LoopView<Report> }
  ) => HttpApp;
}

/** A listening front door with its loops. */
export interface OpenLoops<Report, Asks extends Protocol> extends RunningService {
  readonly ended: Promise<void>;
  readonly supervisor: LoopSupervisor<Report, Asks>;
  readonly viewOf: (id: ActorId) => LoopView<Report>;
  /** Starts a loop, or restarts a stopped one. @param workerData if a function, called at each start of the thread */
  startLoop(id: ActorId, workerData: object | (() => object)): void;
}

/**
 * Starts the front door, then the loop.
 *
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID
 */
export async function startSupervised<Report, Asks extends Protocol>(
  service: NetworkService<Report, Asks>
): Promise<RunningService> {
  const { id, code, workerData, pipeline, createApp } = service;
  const opened = await openSupervised<Report, Asks>({
    ...service,
    serves: (asked) => asked.toUpperCase() === code,
    pipeline: (_, view) => pipeline(view),
    createApp: ({ viewOf, ...parts }) => createApp({ ...parts, view: () => viewOf(id) })
  });
  opened.startLoop(id, workerData);
  return opened;
}

/**
 * Starts the front door of a service without its loops.
 *
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID
 */
export async function openSupervised<Report, Asks extends Protocol>(
  service: SupervisedService<Report, Asks>
): Promise<OpenLoops<Report, Asks>> {
  const { serves, config, log, place, reportOf, pipeline, createApp, resourceLimits = {}, isProof = false } = service;
  const reports = new Map<string, Report>();
  const reportNow = (id: ActorName) => {
    const last = reports.get(actorKey(id));
    return last === undefined ? undefined : reportOf(last);
  };
  const started = new Set<string>();
  const watches = new Map<string, LoopWatch>();
  const watchOf = (key: string) => {
    const watch = watches.get(key) ?? new LoopWatch();
    watches.set(key, watch);
    return watch;
  };
  let supervisor: LoopSupervisor<Report, Asks> | undefined;
  const metrics = createMetrics({
    service: service.service.name,
    actors: () => supervisor?.list().map((actor) => ({ actor, report: reportNow(actor.id) })) ?? []
  });
  return await openService({
    service: service.service,
    config,
    log,
    place,
    metrics,
    open: (base, fail) => {
      const actors: LoopSupervisor<Report, Asks> = new Supervisor<
        Asks,
        Record<never, never>,
        { report: Report },
        ActorId
      >({
        log,
        handlers: {},
        onFatal: fail,
        ...base.observers,
        pauses: new KeptPauses(base.stateDirectory, log),
        listeners: { report: (report: Report, id: ActorId) => keepReport(report, id) }
      });
      supervisor = actors;
      const keepReport = (report: Report, id: ActorId) => {
        const before = reportNow(id)?.height ?? null;
        reports.set(actorKey(id), report);
        const actorReport = reportOf(report);
        watchOf(actorKey(id)).note(actorReport, actors.view(id).generation, isProof);
        const { height } = actorReport;
        if (before === null || height === null || height <= before) return;
        const blocks = { direction: 'in', first: before + 1, last: height } as const;
        actors.timeline.add(id, { kind: 'blocks', at: Date.now(), ...blocks });
      };
      const viewOf = (id: ActorId): LoopView<Report> => {
        const key = actorKey(id);
        if (!started.has(key)) return { report: null, crash: null };
        const view = actors.view(id);
        const crash = watchOf(key).faultOf(view);
        if (view.state === 'starting') return { report: null, crash };
        return { report: reports.get(key) ?? null, crash };
      };
      const app = createApp({
        ...base,
        log,
        viewOf,
        supervisor: actors,
        serves,
        actors: {
          list: () => actors.list(),
          timeline: actors.timeline,
          control: actors,
          describe: (id) => ({ report: reportNow(id) ?? null }),
          pipeline: () => joinPipelines(actors.list().map(({ id }) => pipeline(id, viewOf(id))))
        }
      });
      const startLoop = (id: ActorId, workerData: object | (() => object)) => {
        actors.start({ id, kind: id.kind, entry: actorEntry(id.kind), workerData, resourceLimits });
        started.add(actorKey(id));
      };
      return { app, supervisor: actors, viewOf, startLoop, endWork: (graceMs: number) => actors.stopAll(graceMs) };
    }
  });
}

function joinPipelines(pipelines: readonly Pipeline[]): Pipeline {
  return {
    nodes: pipelines.flatMap(({ nodes }) => nodes),
    edges: pipelines.flatMap(({ edges }) => edges)
  };
}
