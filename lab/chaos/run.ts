import { setTimeout as sleep } from 'node:timers/promises';
import { checkAfterwards, measure } from './checks.ts';
import { Faults } from './faults.ts';
import type { WrittenDecoder } from './indexed.ts';
import { Monitor, type Recovery } from './monitor.ts';
import { type FaultKind, INDEXER_FAULTS, planFaults } from './plan.ts';
import { processesOf, type Service } from './service.ts';
import { System } from './system.ts';
import { keepWriting } from './writing.ts';

/** With the next faults already under way nothing need be well at once, but it must get there. */
const RECOVERY_DEADLINE_MS = 180_000;
/** A run this long lets MariaDB stand still until every circuit has opened. */
const LONG_RUN_S = 120;

interface ChaosOptions {
  readonly seed: string;
  readonly seconds: number;
  /** Default: all that this system can suffer. */
  readonly kinds?: readonly FaultKind[];
}

interface ChaosReport {
  readonly faults: number;
  readonly violations: readonly string[];
  readonly text: string;
}

interface Dealt {
  readonly kind: FaultKind;
  readonly number: number;
  readonly recovery: Promise<Recovery>;
}

/** One run: faults from a seed for so many seconds, then peace, then every promise is looked at. */
export async function runChaos(
  { seed, seconds, kinds }: ChaosOptions,
  print: (line: string) => void = () => undefined
): Promise<ChaosReport> {
  const began = performance.now();
  const tell = (line: string) => print(`${((performance.now() - began) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
  const hasIndexer = kinds === undefined || kinds.some((kind) => INDEXER_FAULTS.includes(kind));
  const system = await System.open({ seed, hasIndexer });
  await system.settle(await system.sourceHeight(), 60_000);
  const before = measure(system);
  const monitor = new Monitor(system, tell);
  const faults = new Faults(system, seconds >= LONG_RUN_S ? 40_000 : 3_000);
  const writing = keepWriting(system.source, seed);
  const dealt: Dealt[] = [];
  const violations: string[] = [];
  const pending = new Set<Promise<void>>();
  const end = performance.now() + seconds * 1_000;
  for (const { number, kind, pauseMs, random } of planFaults(seed, kinds ?? faults.kinds)) {
    await sleep(Math.min(pauseMs, Math.max(0, end - performance.now())));
    if (performance.now() >= end) break;
    const dealing = faults.inflict(kind, random).then(
      (targets) => {
        if (!targets) return tell(`${number} ${kind}: not now`);
        tell(`${number} ${kind}: ${targets.map(({ name }) => name).join(', ')}`);
        dealt.push({ kind, number, recovery: monitor.recovery(targets, RECOVERY_DEADLINE_MS) });
      },
      // What it wanted to do it to is away by another fault.
      (caught: Error) => tell(`${number} ${kind}: ${caught.message}`)
    );
    pending.add(dealing);
    void dealing.then(() => pending.delete(dealing));
  }
  await Promise.all(pending);
  const written = await writing.end();
  await system.indexed?.writing.end();
  const times = new Map<FaultKind, number[]>();
  const late = new Map<Service, string[]>();
  for (const { kind, number, recovery } of dealt) {
    const { ms, late: those } = await recovery;
    for (const service of those) late.set(service, [...(late.get(service) ?? []), `${number} ${kind}`]);
    if (those.length === 0) times.set(kind, [...(times.get(kind) ?? []), ms]);
  }
  for (const [{ name }, after] of late)
    violations.push(`${name} was not well within ${RECOVERY_DEADLINE_MS / 1_000} s after ${after.join(', ')}`);
  await monitor.end();
  violations.push(...(await checkAfterwards(system, before)));
  const received = system.subscribers.reduce((sum, subscriber) => sum + subscriber.received, 0);
  if (violations.length > 0) tell(`the logs are kept in ${system.keepLogs()}`);
  await system.close();
  for (const service of system.services) violations.push(...service.violations);
  for (const { pid, command } of processesOf(system.mark)) violations.push(`a process is left: ${pid} ${command}`);
  const text = [
    ...[...times].map(([kind, list]) => `${kind.padEnd(20)} ${String(list.length).padStart(4)} ${figures(list)}`),
    `${'all'.padEnd(20)} ${String(dealt.length).padStart(4)} ${figures([...times.values()].flat())}`,
    ...(system.indexed ? [indexedLine(system.indexed.writing)] : []),
    `${written.blocks} blocks written, ${written.reorgs} reorgs, ${received} received; ${violations.length} violations`
  ].join('\n');
  return { faults: dealt.length, violations, text };
}

function indexedLine({ written }: WrittenDecoder): string {
  return `${written.blocks} blocks for the indexer, ${written.reorgs} reorgs, judged by the reference`;
}

/** Median and 99th percentile of the times to recover. */
function figures(list: readonly number[]): string {
  const sorted = [...list].sort((a, b) => a - b);
  const at = (part: number) =>
    ((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) / 1_000).toFixed(1);
  return `recovered after p50 ${at(0.5)} s, p99 ${at(0.99)} s`;
}
