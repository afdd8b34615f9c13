import { Counter, Histogram, type Registry } from 'prom-client';
import { DIGEST_OUTCOMES } from '../../counters.ts';
import { DATABASE, SECONDS } from '../labels.ts';
import type { TakeCounters } from '../metrics.ts';
import type { MeasuredProcess } from './measured.ts';

/** Registers counters that only sync's threads have. */
export function describeCounters(registry: Registry, mode: MeasuredProcess['mode']): TakeCounters {
  const registers = [registry];
  const labelNames = [...DATABASE];
  const rows = new Counter({
    name: 'sync_rows_total',
    help: 'rows sent in blocks (out), or taken from sources in blocks and snapshots (in)',
    labelNames: [...labelNames, 'direction'],
    registers
  });
  const only = mode === 'server' ? describeSnapshotBytes(registers) : describeReceived(registers);
  return (labels, counters) => {
    const { counts } = counters;
    for (const direction of ['in', 'out'] as const) {
      const count = counts[`rows.${direction}`];
      if (count) rows.inc({ ...labels, direction }, count);
    }
    only(labels, counters);
  };
}

function describeSnapshotBytes(registers: Registry[]): TakeCounters {
  const bytes = new Counter({
    name: 'sync_snapshot_bytes_total',
    help: 'bytes of snapshots that were sent',
    registers
  });
  return (_, { counts }) => bytes.inc(counts['snapshotBytes.out'] ?? 0);
}

function describeReceived(registers: Registry[]): TakeCounters {
  const bytes = new Counter({
    name: 'sync_replica_received_bytes_total',
    help: 'bytes of snapshots and messages that sources sent',
    labelNames: [...DATABASE],
    registers
  });
  const digests = new Counter({
    name: 'sync_replica_digests_total',
    help: 'comparisons with the source, by outcome; repaired counts tables',
    labelNames: [...DATABASE, 'outcome'],
    registers
  });
  const groups = new Histogram({
    name: 'sync_replica_group_seconds',
    help: 'groups of live blocks, from the last message to the commit',
    labelNames: [...DATABASE],
    buckets: SECONDS,
    registers
  });
  return (labels, { counts, work }) => {
    if (counts['bytes.in']) bytes.inc(labels, counts['bytes.in']);
    for (const outcome of DIGEST_OUTCOMES) {
      const count = counts[`digest.${outcome}`];
      if (count) digests.inc({ ...labels, outcome }, count);
    }
    for (const { name, from, to } of work) if (name === 'blocks.apply') groups.observe(labels, (to - from) / 1000);
  };
}
