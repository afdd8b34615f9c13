import type { TimelineEntry } from '../../src/wire/state/timeline.ts';
import type { Cell } from '../dom.ts';
import { changesOf, factsText } from '../drawing/changes.ts';
import { eventText } from '../drawing/chart.ts';
import { keyOf } from '../drawing/lanes.ts';
import { exactText, whenCell } from '../time.ts';

/** Returns the last entries until an instant, newest first. */
export function lastUntil(entries: readonly TimelineEntry[], instant: number, count: number): TimelineEntry[] {
  const last: TimelineEntry[] = [];
  for (let index = entries.length - 1; index >= 0 && last.length < count; index -= 1)
    if (entries[index]!.at <= instant) last.push(entries[index]!);
  return last;
}

/** Returns each machine's last state at an instant. */
export function statesAt(entries: readonly TimelineEntry[], instant: number) {
  const last = new Map<string, Map<string, Extract<TimelineEntry, { kind: 'transition' }>>>();
  for (const entry of entries) {
    if (entry.at > instant) break;
    if (entry.kind !== 'transition') continue;
    const machines = last.get(keyOf(entry));
    if (machines) machines.set(entry.machine, entry);
    else last.set(keyOf(entry), new Map([[entry.machine, entry]]));
  }
  return [...last.entries()].sort().flatMap(([database, machines]) =>
    [...machines.values()].map((entry) => {
      const context: Cell = { text: factsText(entry.context), kind: 'wide' };
      const cells = [database, entry.machine, entry.to, whenCell(entry.at, exactText(entry.at)), context];
      return { key: `${database} ${entry.machine}`, cells };
    })
  );
}

/** Makes the cells of one event, with what a transition changed. */
export function cells(entry: TimelineEntry): Cell[] {
  const [what, details] = words(entry);
  const kind = entry.kind === 'death' || (entry.kind === 'message' && entry.error) ? 'bad' : 'quiet';
  const when = whenCell(entry.at, exactText(entry.at));
  const changes = entry.kind === 'transition' ? changesOf(entry.before, entry.context) : '';
  const text = changes === '' ? details : `${details}; ${changes}`;
  return [when, keyOf(entry), { text: what, kind }, { text, kind: 'wide' }];
}

/** Returns an entry in one line, which a filter searches. */
export const textOf = (entry: TimelineEntry): string => [keyOf(entry), ...words(entry)].join(' ');

function words(entry: TimelineEntry): [string, string] {
  switch (entry.kind) {
    case 'transition':
      return [`${entry.machine}: ${entry.to}`, `${eventText(entry.event)}, from ${entry.from ?? 'nothing'}`];
    case 'death':
      return ['died', `${entry.cause}: ${entry.reason}`];
    case 'start':
      return ['started', `start ${entry.generation}`];
    case 'blocks':
      return [entry.direction === 'in' ? 'applied' : 'sent', `blocks ${entry.first} to ${entry.last}`];
    case 'message':
      return [
        entry.direction === 'in' ? `asked ${entry.type}` : `asks ${entry.type}`,
        entry.error ? `${entry.error} after ${entry.ms} ms` : `replied after ${entry.ms} ms`
      ];
  }
}
