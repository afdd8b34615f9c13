import type { BroadcastLog } from '../../actors/broadcast-log.ts';
import { ActorDirectory } from '../../actors/directory.ts';
import type { Broadcast, MainAsks, ReplicaAsks, SourceAsks } from '../../actors/protocol.ts';
import { reap } from '../../actors/reaper.ts';
import { Supervisor } from '../../actors/supervisor.ts';
import type { TaskPool } from '../../actors/task-pool.ts';
import type { TimelineEntry } from '../../actors/timeline.ts';
import type { PlatformError } from '../errors.ts';
import type { FanOut } from '../http/fan-out.ts';
import type { Logger } from '../log.ts';
import { type DatabaseCoordinates, type DatabaseId, databaseKey } from '../wire/database.ts';
import type { DatabaseReport } from '../wire/report.ts';

/** What either kind of sync actor may be asked; which kind there is, the mode says. */
export type SyncActorAsks = SourceAsks & ReplicaAsks;

export interface SyncActors {
  readonly supervisor: Supervisor<SyncActorAsks, MainAsks>;
  readonly directory: ActorDirectory<SyncActorAsks, DatabaseReport>;
}

interface House {
  readonly log: Logger;
  readonly tasks: TaskPool;
  readonly fanOut: FanOut;
  readonly broadcasts: BroadcastLog;
  readonly whereIs: (id: DatabaseId) => DatabaseCoordinates | undefined;
  readonly onFatal: (error: PlatformError) => void;
  readonly onHappening: (entry: TimelineEntry) => void;
}

/** The supervisor of this process, with what its actors may ask of the main thread. */
export function createActors({ log, tasks, fanOut, broadcasts, whereIs, onFatal, onHappening }: House): SyncActors {
  const supervisor = new Supervisor<SyncActorAsks, MainAsks>({
    log,
    onFatal,
    onHappening,
    handlers: {
      'task.run': ({ name, input }) => tasks.run(name, input),
      broadcast: async ({ messages, resume }, from) => {
        await broadcasts.keep(from, resume); // accepted: a successor continues after it, whatever becomes of the sockets
        const sent = fanOut.broadcast(from, messages, resume);
        noteBlocks(from, messages);
        await sent;
        return {};
      }
    },
    onNotice: (id, type, body) => {
      if (type === 'report') keepReport(id, body as DatabaseReport);
      else log.warn({ database: databaseKey(id), type }, 'notice that nobody takes');
    },
    reap: async ({ spec, generation }) => {
      const coordinates = whereIs(spec.id);
      const killed = coordinates ? await reap(coordinates, coordinates.name, generation) : 0;
      if (killed > 0) log.warn({ database: databaseKey(spec.id), killed }, 'ended what a dead actor left running');
    }
  });
  const directory = new ActorDirectory<SyncActorAsks, DatabaseReport>(supervisor);

  function noteBlocks(id: DatabaseId, messages: readonly Broadcast[]): void {
    const heights = messages.filter(({ type }) => type === 'block').map(({ height }) => height);
    const [first, last] = [heights[0], heights.at(-1)];
    if (first === undefined || last === undefined) return;
    supervisor.timeline.add(id, { kind: 'blocks', at: Date.now(), direction: 'out', first, last });
  }

  function keepReport(id: DatabaseId, report: DatabaseReport): void {
    const known = directory.list().find((entry) => databaseKey(entry.id) === databaseKey(id));
    const before = known?.report?.height ?? null;
    directory.keepReport(id, report);
    const { mode, height } = report;
    if (mode !== 'client' || before === null || height === null || height <= before) return;
    supervisor.timeline.add(id, { kind: 'blocks', at: Date.now(), direction: 'in', first: before + 1, last: height });
  }
  return { supervisor, directory };
}
