import type { Handlers } from '../../actors/runtime/channel.ts';
import { ActorDirectory } from '../../actors/runtime/supervision/directory.ts';
import type { KeptPauses } from '../../actors/runtime/supervision/kept-pauses.ts';
import { reap } from '../../actors/runtime/supervision/reaper.ts';
import { Supervisor } from '../../actors/runtime/supervision/supervisor.ts';
import type { PlatformError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Counters } from '../observe/counters.ts';
import type { Trace } from '../observe/trace.ts';
import type { ActorNotices, ActorTasks, MainAsks, ReplicaAsks, SourceAsks } from '../replication/protocol.ts';
import type { Broadcast } from '../wire/data/broadcast.ts';
import { type DatabaseCoordinates, type DatabaseId, databaseKey } from '../wire/data/database.ts';
import type { DatabaseReport } from '../wire/state/report.ts';
import type { TimelineEntry } from '../wire/state/timeline.ts';
import type { FanOut } from './fan-out/fan-out.ts';
import type { Relay } from './relay/relay.ts';
import type { ResumePointStore } from './resume-point-store.ts';

/** Requests to either kind of sync actor; the mode decides which kind runs. */
export type SyncActorAsks = SourceAsks & ReplicaAsks;

export interface SyncActors {
  readonly supervisor: Supervisor<SyncActorAsks, MainAsks, ActorNotices>;
  readonly directory: ActorDirectory<SyncActorAsks, DatabaseReport>;
}

interface ActorDeps {
  readonly log: Logger;
  /** Run on the pool. */
  readonly tasks: Handlers<ActorTasks>;
  readonly fanOut: FanOut;
  readonly broadcasts: ResumePointStore;
  /** Null or absent: no stream is published. */
  readonly relay?: Relay | null;
  /** Absent: a pause ends with the process. */
  readonly pauses?: KeptPauses;
  readonly whereIs: (id: DatabaseId) => DatabaseCoordinates | undefined;
  readonly onFatal: (error: PlatformError) => void;
  readonly onTimelineEvent: (entry: TimelineEntry) => void;
  readonly onCounters: (id: DatabaseId, counters: Counters) => void;
  readonly trace: Trace;
}

/** Creates the supervisor of this process, with the requests that its actors may send to the main thread. */
export function createActors(deps: ActorDeps): SyncActors {
  const { log, tasks, fanOut, broadcasts, relay, pauses, whereIs, onFatal, onTimelineEvent, onCounters, trace } = deps;
  const supervisor = new Supervisor<SyncActorAsks, MainAsks, ActorNotices>({
    log,
    onFatal,
    onTimelineEvent,
    onCounters,
    ...(pauses ? { pauses } : {}),
    handlers: {
      ...tasks,
      'resume.keep': async ({ resume }, from) => {
        const before = broadcasts.last(from);
        await broadcasts.keep(from, resume);
        fanOut.setPoint(from, resume);
        await relay?.accept(from, [], before, broadcasts.last(from)!);
        return {};
      },
      broadcast: ({ messages, resume, readSince }, from) =>
        tracedBroadcast(from, messages, readSince, async () => {
          fanOut.checkRoom(from); // what is refused is not taken for sent by a successor
          const before = broadcasts.last(from);
          await broadcasts.keep(from, resume); // accepted: a successor continues after it, even if sockets fail
          const sent = fanOut.broadcast(from, messages, resume);
          noteBlocks(from, messages);
          const relayed = relay?.accept(from, messages, before, broadcasts.last(from)!);
          await trace.step('blocks.send', {}, () => sent);
          await relayed;
          return { plain: fanOut.hasPlain(from) };
        })
    },
    listeners: { report: (report, from) => keepReport(from, report) },
    reap: async ({ spec, generation }) => {
      const coordinates = whereIs(spec.id);
      const killed = coordinates ? await reap(coordinates, coordinates.name, generation) : 0;
      if (killed > 0)
        log.warn({ database: databaseKey(spec.id), killed }, 'ended statements that a dead actor left running');
    }
  });
  const directory = new ActorDirectory<SyncActorAsks, DatabaseReport>(supervisor);

  /** Runs a broadcast in a span of the blocks' whole way through this process. */
  function tracedBroadcast<T>(
    id: DatabaseId,
    messages: readonly Broadcast[],
    readSince: number | undefined,
    run: () => Promise<T>
  ): Promise<T> {
    const [first, last] = [messages[0]?.height, messages.at(-1)?.height];
    if (first === undefined || last === undefined) return run();
    const bytes = messages.reduce((sum, message) => sum + message.bytes.byteLength, 0);
    const readTo = Date.now();
    const from = readSince ?? readTo;
    return trace.step(
      'blocks.serve',
      { database: databaseKey(id), first, last, bytes },
      () => {
        trace.record({ name: 'blocks.read', from, to: readTo });
        return run();
      },
      from
    );
  }

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
    const isSilent = (each?: DatabaseReport | null) => (each?.databaseSilentS ?? 0) > 0;
    if (report.mode === 'server' && isSilent(report) !== isSilent(known?.report)) fanOut.tellStatus(id);
    const { mode, height } = report;
    if (mode !== 'client' || before === null || height === null || height <= before) return;
    supervisor.timeline.add(id, { kind: 'blocks', at: Date.now(), direction: 'in', first: before + 1, last: height });
  }
  return { supervisor, directory };
}
