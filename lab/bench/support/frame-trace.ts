import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';

const FRAME_US = 1e6 / 60;
/** A frame with less to do is no frame of the page: it would only make the others look better. */
const LEAST_US = 1_000;
/** Whole tasks only: to tell their parts costs the page a third more. */
const CATEGORIES = ['toplevel', '__metadata'];

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** Time of the thread, which does not grow while other programs have the core. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Work of the renderer's main thread in frames of a sixtieth of a second that had something to do. Milliseconds. */
export interface FrameWork {
  readonly count: number;
  readonly p95: number;
  readonly longest: number;
}

/** Traces a page for some time. */
export async function traceFrames(page: Page, forMs: number): Promise<FrameWork> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => void events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: CATEGORIES }
  });
  await sleep(forMs);
  await endTrace(session);
  return frameWork(events);
}

async function endTrace(session: CDPSession): Promise<void> {
  const complete = once(session as unknown as NodeJS.EventEmitter, 'Tracing.tracingComplete');
  await session.send('Tracing.end');
  await complete;
  await session.detach();
}

function frameWork(events: readonly TraceEvent[]): FrameWork {
  const tasks = mainThreadTasks(events);
  const frames: number[] = [];
  let begin = Number.NEGATIVE_INFINITY;
  for (const { ts, dur = 0, tdur = dur } of tasks) {
    if (ts >= begin + FRAME_US) {
      begin = ts;
      frames.push(0);
    }
    frames[frames.length - 1]! += tdur;
  }
  const busy = frames.filter((us) => us >= LEAST_US).sort((a, b) => a - b);
  if (busy.length === 0) throw new Error('the trace holds no work of a main thread');
  return { count: busy.length, p95: busy[Math.ceil(busy.length * 0.95) - 1]! / 1_000, longest: busy.at(-1)! / 1_000 };
}

/** The tasks of the main thread that had most to do: the page's, and not that of an empty tab. */
function mainThreadTasks(events: readonly TraceEvent[]): TraceEvent[] {
  const mains = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`)
  );
  const byThread = Map.groupBy(
    events.filter(({ name, ph }) => ph === 'X' && /(?:^|::)RunTask$/.test(name)),
    ({ pid, tid }) => `${pid} ${tid}`
  );
  const lists = [...byThread].filter(([thread]) => mains.has(thread)).map(([, list]) => outermost(list));
  const sum = (list: readonly TraceEvent[]) => list.reduce((all, { dur = 0, tdur = dur }) => all + tdur, 0);
  return lists.sort((a, b) => sum(b) - sum(a))[0] ?? [];
}

/** One task may be told by several categories, one within the other. */
function outermost(list: readonly TraceEvent[]): TraceEvent[] {
  let end = Number.NEGATIVE_INFINITY;
  return list
    .toSorted((a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0))
    .filter(({ ts, dur = 0 }) => {
      if (ts < end) return false;
      end = ts + dur;
      return true;
    });
}
