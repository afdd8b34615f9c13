import { Gauge, type Registry } from 'prom-client';
import type { ActorName } from '../../wire/state/actor.ts';
import type { ActorView } from '../../wire/state/actor-view.ts';
import type { ActorReport, ReplicaReport } from '../../wire/state/report.ts';
import { DATABASE, labelsOf } from './labels.ts';

/** An actor whose copies are measured. */
interface ReadingActor {
  readonly actor: Pick<ActorView<ActorName>, 'id' | 'state'>;
  readonly report: Pick<ActorReport, 'replicas'> | undefined;
}

/** Registers the metrics of the copies that an explorer reads, by their places in the settings; none where there is one. */
export function describeReplicas(registry: Registry, actors: () => readonly ReadingActor[]): void {
  const each = (name: string, help: string, read: (replica: ReplicaReport) => number | null) =>
    new Gauge({
      name,
      help,
      labelNames: [...DATABASE, 'replica'],
      registers: [registry],
      collect() {
        this.reset();
        for (const { actor, report } of actors())
          for (const [at, replica] of (actor.state === 'running' ? (report?.replicas ?? []) : []).entries()) {
            const value = read(replica);
            if (value !== null) this.set({ ...labelsOf(actor.id), replica: `${at + 1}` }, value);
          }
      }
    });
  each('explorer_replica_serves', '1 while a copy of the databases is asked', ({ state }) =>
    Number(state === 'serves')
  );
  each('explorer_replica_forked', '1 while a copy is on another chain, and not read', ({ state }) =>
    Number(state === 'forked')
  );
  each(
    'explorer_replica_lag_blocks',
    'blocks behind the newest copy; none while it is not known',
    (replica) => replica.lagBlocks
  );
}
