import { h, Table } from '../dom.ts';
import { ask, type LiveState } from '../live.ts';
import { agoText, whenCell } from '../time.ts';
import type { View } from './view.ts';

const EVERY_MS = 5_000;

interface Entry {
  readonly at: string;
  readonly from: string;
  readonly operation: string;
  readonly target: string | null;
  readonly reason: string | null;
  readonly outcome: string;
}

/** Operations that changed something, newest first. */
export class Audit implements View {
  readonly element = h('section', {}, h('h2', {}, 'Audit: who changed something'));
  readonly #table = new Table('Audit', ['When', 'From', 'Operation', 'Of', 'Reason', 'Outcome']);
  readonly #none = h('p', { class: 'quiet' }, 'Nobody changed anything in the time that is kept.');
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor() {
    this.element.append(h('div', { class: 'card' }, this.#table.element, this.#none));
  }

  update(_state: LiveState): void {
    if (performance.now() - this.#askedAt < EVERY_MS) return;
    this.#askedAt = performance.now();
    void ask('/debug/audit').then(
      (entries) => this.#show(entries as readonly Entry[]),
      () => undefined // the next look tells that the connection is lost
    );
  }

  #show(entries: readonly Entry[]): void {
    this.#none.hidden = entries.length > 0;
    this.#table.update(
      entries.map(({ at, from, operation, target, reason, outcome }, index) => ({
        key: `${entries.length - index} ${at}`,
        cells: [
          whenCell(Date.parse(at), agoText(Date.parse(at))),
          from,
          operation,
          target ?? '',
          { text: reason ?? '', kind: 'wide' },
          { text: outcome, kind: outcome === 'done' ? 'good' : 'warn' }
        ]
      }))
    );
  }
}
