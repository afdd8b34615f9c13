import type { FrameConfig, StateConfig } from '../../config/service.ts';
import type { TracingConfig } from '../../config/tracing.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../observe/metrics/metrics.ts';
import { findKeptDirectory } from '../../process/kept-directory.ts';
import type { OpenedBy, RunningService, Service } from '../define.ts';
import { type HttpApp, type ListenPlace, listen } from '../ingress/listen.ts';
import { openServiceBase, type ServiceBase } from './base.ts';
import { stopInOrder } from './stop-order.ts';

/** Base of a front door. */
interface OpenedBase extends ServiceBase {
  readonly charts: Service['actors'];
  /** Directory for what operators did; null: it ends with the process. */
  readonly stateDirectory: string | null;
}

/** A service as a list of what it is put together from. */
interface Composition<Opened extends OpenedParts> {
  readonly service: OpenedBy;
  /** Mode of a service that has modes; log lines and traces name it. */
  readonly mode?: string;
  readonly config: TracingConfig & Pick<FrameConfig, 'SHUTDOWN_GRACE_MS'> & Partial<StateConfig>;
  readonly log: Logger;
  readonly place: Omit<ListenPlace, 'service' | 'log'>;
  readonly metrics: Metrics;
  /** Makes the front door and what answers behind it. @param fail ends the service, because it cannot continue */
  readonly open: (base: OpenedBase, fail: (reason: unknown) => void) => Opened | Promise<Opened>;
}

/** The parts of an open service that end with it. */
interface OpenedParts {
  readonly app: HttpApp;
  /** Ends the work, such as actors, when the front door is closed. @param graceMs time that is left for it */
  endWork(graceMs: number): Promise<unknown>;
  /** Closes what work and front door have used, one after the other. */
  readonly closeRest?: readonly (() => unknown)[];
}

/** A service whose front door listens. */
type OpenService<Opened extends OpenedParts> = Opened &
  Required<RunningService> & {
    /** The port on which it listens. */
    readonly port: number;
    /** Ends the service, because it cannot continue. */
    readonly fail: (reason: unknown) => void;
  };

/**
 * Opens a service: metrics and traces, its parts, its front door. Each service is put together here, and ends in one order.
 *
 * @throws {PlatformError} PORT_IN_USE, CONFIG_INVALID; what its parts throw
 */
export async function openService<Opened extends OpenedParts>(
  composition: Composition<Opened>
): Promise<OpenService<Opened>> {
  const { service, mode, config, log, place, metrics, open } = composition;
  const title = [service.name, mode].filter(Boolean).join(' ');
  const ended = Promise.withResolvers<void>();
  ended.promise.catch(() => undefined); // whoever waits for it is told; it may end while nobody does
  const base = await openServiceBase(title, config, metrics);
  const { STATE_DIR: state } = config; // sync has a directory of its own
  const stateDirectory = state === undefined ? null : await findKeptDirectory(state, service.name, place, log);
  const opened = await open({ ...base, charts: service.actors, stateDirectory }, ended.reject);
  const stop = () =>
    stopInOrder({
      graceMs: config.SHUTDOWN_GRACE_MS,
      closeDoor: () => opened.app.close(),
      endWork: (graceMs) => opened.endWork(graceMs),
      closeRest: [...(opened.closeRest ?? []), () => base.close()]
    });
  try {
    const port = await listen(opened.app, { ...place, service: title, log });
    return { ...opened, port, ended: ended.promise, fail: ended.reject, stop };
  } catch (caught) {
    await stop();
    throw caught;
  }
}
