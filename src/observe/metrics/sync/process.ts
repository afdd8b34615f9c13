import { Counter, Gauge, type Registry } from 'prom-client';
import type { MeasuredProcess } from './measured.ts';

/** Registers the metrics of the process: fan-out, snapshots, hub, pool and disk. */
export function describeProcess(registry: Registry, sources: MeasuredProcess): void {
  const { mode, hubIsUp, waitingTasks, freeBytes } = sources;
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      }
    });
  if (mode === 'server') describeServing(registers, gauge, sources);
  gauge('sync_hub_up', '1 while the hub answers', () => Number(hubIsUp() ?? false));
  gauge('sync_task_queue_length', 'tasks that wait for a thread of the pool', waitingTasks);
  new Gauge({
    name: 'sync_disk_free_bytes',
    help: 'free disk where state and downloads, and where snapshots lie',
    labelNames: ['of'],
    registers,
    async collect() {
      for (const [of, bytes] of Object.entries(await freeBytes())) this.set({ of }, bytes);
    }
  });
}

type Describe = (name: string, help: string, read: () => number) => unknown;

/** Registers totals that the fan-out and the artifact store keep. */
function describeServing(registers: Registry[], gauge: Describe, { fanOut, snapshots }: MeasuredProcess): void {
  const total: Describe = (name, help, read) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      }
    });
  total('sync_fanout_messages_total', 'messages handed to sockets', () => fanOut().messages);
  total('sync_fanout_bytes_total', 'bytes handed to sockets', () => fanOut().bytes);
  total('sync_snapshots_built_total', 'snapshots built', () => snapshots().built);
  total('sync_snapshots_failed_total', 'snapshot builds that failed', () => snapshots().failed);
  total('sync_snapshots_shared_total', 'requests served from a snapshot that was there', () => snapshots().shared);
  gauge('sync_snapshot_builds', 'snapshot builds that run', () => snapshots().running);
  gauge(
    'sync_snapshot_oldest_build_seconds',
    'age of the build that runs longest',
    () => snapshots().oldestBuildMs / 1000
  );
  gauge('sync_snapshot_cache_bytes', 'artifacts kept', () => snapshots().bytes);
  gauge('sync_fanout_queue_messages', 'messages that wait to be handed to sockets', () => fanOut().queued);
  new Counter({
    name: 'sync_subscriber_drops_total',
    help: 'subscribers that were disconnected, by reason',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(fanOut().drops)) this.inc({ reason }, count);
    }
  });
}
