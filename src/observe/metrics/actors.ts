import { Gauge, type Registry } from 'prom-client';
import type { ActorName } from '../../wire/state/actor.ts';
import type { ActorView } from '../../wire/state/actor-view.ts';
import type { ActorReport } from '../../wire/state/report.ts';
import { DATABASE, labelsOf } from './labels.ts';
import { describeReplicas } from './replicas.ts';

/** One actor as metrics read it. */
export interface MeasuredActor<Report = ActorReport> {
  readonly actor: Pick<ActorView<ActorName>, 'id' | 'state' | 'restarts' | 'beacon'>;
  readonly report: Report | undefined;
}

/** Registers a gauge with one line per actor. An unknown value has no line. */
export type DescribeEach<A> = (name: string, help: string, read: (actor: A) => number | null | undefined) => void;

/**
 * Returns a function that registers gauges over actors, which are read at each scrape. @param service first word of
 * their names
 */
export function gaugesOf<A extends Pick<MeasuredActor, 'actor'>>(
  registry: Registry,
  service: string,
  actors: () => readonly A[]
): DescribeEach<A> {
  return (name, help, read) => {
    new Gauge({
      name: `${service}_${name}`,
      help,
      labelNames: [...DATABASE],
      registers: [registry],
      collect() {
        this.reset();
        for (const each of actors()) {
          const value = read(each);
          if (value !== null && value !== undefined) this.set(labelsOf(each.actor.id), value);
        }
      }
    });
  };
}

/** Services that follow another service's database. */
export const FOLLOWERS: ReadonlySet<string> = new Set(['indexer', 'explorer']);

/** Services with actors that follow a coin node. */
const AT_NODE: ReadonlySet<string> = new Set(['decoder', 'tracker']);

/** Registers the metrics of all actors: progress and thread. */
export function describeActors(registry: Registry, service: string, actors: () => readonly MeasuredActor[]): void {
  const each = gaugesOf(registry, service, actors);
  each('height_blocks', 'last block that was sent (server) or written', ({ report }) => report?.height);
  each('tip_blocks', 'last block that is known upstream', ({ report }) => report?.tip);
  each('lag_blocks', 'tip minus height; none while it is not known', ({ actor, report }) =>
    actor.state === 'running' ? report?.lagBlocks : null
  );
  if (FOLLOWERS.has(service))
    each(
      'upstream_stopped_seconds',
      'since the service upstream stopped; 0 while it goes on',
      ({ report }) => report?.upstreamStopped
    );
  if (service === 'explorer') describeReplicas(registry, actors);
  if (AT_NODE.has(service)) {
    each('node_up', '1 while the coin node answers', ({ report }) => Number(report?.node?.isHeard ?? false));
    each('node_age_seconds', 'since the coin node told its tip', ({ report }) => report?.node?.ageS);
  }
  each('circuit_open', '1 while the circuit breaker is open', ({ report }) =>
    report?.circuit ? Number(report.circuit === 'open') : null
  );
  each('actor_up', '1 while the thread runs', ({ actor }) => Number(actor.state === 'running'));
  each('actor_failed', '1 while it stays down until an operator acts', ({ actor }) =>
    Number(actor.state === 'failed' || actor.state === 'parked')
  );
  each('actor_restarts_left', 'restarts left in the window', ({ actor }) =>
    Math.max(0, actor.restarts.budget - actor.restarts.inWindow)
  );
  each('actor_mailbox_length', 'messages in work', ({ actor }) => actor.beacon?.mailboxDepth);
  each('actor_oldest_message_seconds', 'age of the oldest message in work', ({ actor }) =>
    actor.beacon ? actor.beacon.oldestMs / 1000 : null
  );
  each('actor_event_loop_delay_seconds', 'longest delay in the last second', ({ actor }) =>
    actor.beacon ? actor.beacon.eventLoopDelayMs / 1000 : null
  );
  each('actor_heap_bytes', 'heap in use', ({ actor }) => actor.beacon?.heapUsedBytes);
}
