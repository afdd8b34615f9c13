import type { Pipeline } from '../../src/wire/state/pipeline.ts';
import { h, setText } from '../dom.ts';
import { blocksOfDay, blocksWatched, lagOfDay } from '../drawing/bars.ts';
import { ACTOR_KEY, LaneView, laneOf } from '../drawing/pipeline.ts';
import { Plot } from '../drawing/plot.ts';
import type { LiveDatabase, LiveState } from '../live.ts';

/** The card of one lane: its name, whether it is verified, its blocks and lag over time, and the way of blocks. */
export class LaneCard {
  readonly card: HTMLElement;
  readonly #key: string;
  readonly #view = new LaneView();
  readonly #verified = h('span');
  readonly #plots: { readonly watched: Plot; readonly blocks: Plot; readonly lag: Plot } | null = null;

  /** @param key of a database, of another lane, or empty */
  constructor(key: string) {
    this.#key = key;
    const name = key || 'this service';
    const head = h('div', { class: 'head' });
    if (ACTOR_KEY.test(key)) {
      this.#plots = {
        watched: new Plot(`blocks of ${key}`, 'blocks'),
        blocks: new Plot(`blocks of ${key} in 24 hours`, 'blocks'),
        lag: new Plot(`lag of ${key} in 24 hours`, 'most behind', 'most')
      };
      const plots = Object.values(this.#plots).map(({ element }) => element);
      head.append(
        h('h3', {}, h('a', { href: `#/actor/${key}` }, key)),
        this.#verified,
        h('div', { class: 'plots' }, ...plots)
      );
    } else head.append(h('h3', {}, name));
    this.card = h('article', { class: 'lane', 'aria-label': name }, head, this.#view.element);
  }

  update(pipeline: Pipeline, state: LiveState, isSeen: boolean): void {
    this.#view.update(laneOf(pipeline, this.#key || null), isSeen);
    const database = state.database(this.#key);
    if (!this.#plots || !database) return;
    const past = state.past.get(this.#key) ?? [];
    this.#plots.watched.update(blocksWatched(state.samples.get(this.#key) ?? []));
    this.#plots.blocks.update(blocksOfDay(past, state.last!.now));
    this.#plots.lag.update(lagOfDay(past, state.last!.now));
    const [text, kind] = verifiedText(database);
    this.#verified.className = kind;
    setText(this.#verified, text);
  }
}

function verifiedText({ report }: LiveDatabase): [text: string, kind: string] {
  const replica = report?.replica;
  if (!replica) return ['', ''];
  const { verification, verifiedHeight, verificationReason } = replica;
  if (verification === 'verified') return [`verified at ${verifiedHeight?.toLocaleString('en')}`, 'good'];
  return [`verification: ${verification}${verificationReason ? `, ${verificationReason}` : ''}`, 'warn'];
}
