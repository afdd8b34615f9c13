import { count, h, setText, Table } from '../dom.ts';
import { ask, type LiveState } from '../live.ts';
import { notePlace, placeParameters } from '../place.ts';
import { agoText, whenCell } from '../time.ts';
import { type LogEntry, type Proof, proofParts } from './proof-parts.ts';
import type { View } from './view.ts';

interface Page {
  readonly total: number;
  readonly results: readonly LogEntry[];
}
interface Epoch {
  readonly epoch: number;
  readonly merkle_root: string;
  readonly start_block: number;
  readonly end_block: number;
  readonly leaf_count: number;
  readonly created_at: string;
}
interface Epochs {
  readonly total: number;
  readonly results: readonly Epoch[];
}
const PAGE = 100;
const EPOCHS = 10;
const EPOCHS_EVERY_MS = 10_000;

/** The transparency log: its epochs and roots, and any block's inclusion proof, verified here and not by the service. */
export class Transparency implements View {
  readonly element = h('section', {}, h('h2', {}, 'Transparency log'));
  readonly #databases = h('select', { 'aria-label': 'Database', change: () => this.#turnTo(0) });
  readonly #block = h('input', { type: 'number', min: '1', step: '1', required: true });
  readonly #status = h('p', { role: 'status' });
  readonly #open = h('p', { class: 'quiet' });
  readonly #epochs = new Table('Epochs', ['Epoch', 'Blocks', 'Leaves', 'Root', 'Committed']);
  readonly #newer = h('button', { type: 'button', click: () => this.#turnTo(this.#page - 1) }, 'Newer');
  readonly #older = h('button', { type: 'button', click: () => this.#turnTo(this.#page + 1) }, 'Older');
  readonly #result = h('div', { class: 'card', hidden: true, role: 'status' });
  /** Parameters of the page's address, until they are shown. */
  #wanted: URLSearchParams | null = placeParameters();
  #height: number | null = null;
  #known = '';
  #page = 0;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor() {
    const submit = (event: Event) => {
      event.preventDefault();
      void this.#showProof();
    };
    this.element.append(
      h(
        'form',
        { submit },
        this.#databases,
        h('label', {}, 'Block ', this.#block),
        h('button', {}, 'Show and verify the proof')
      ),
      this.#result,
      h('h2', {}, 'Epochs, newest first'),
      this.#status,
      this.#open,
      h('div', { class: 'card' }, this.#epochs.element, h('div', { class: 'bar' }, this.#newer, this.#older))
    );
  }

  update(state: LiveState): void {
    const keys = (state.last?.databases ?? []).map(({ key }) => key).filter((key) => key.startsWith('indexer/'));
    if (keys.join() !== this.#known) {
      this.#known = keys.join();
      this.#askedAt = Number.NEGATIVE_INFINITY;
      this.#databases.replaceChildren(...keys.map((key) => h('option', {}, key)));
    }
    if (!state.last) return;
    this.#height = state.database(this.#databases.value)?.report?.height ?? null;
    if (keys.length > 0 && state.last.mode === 'server') this.#showWanted();
    if (keys.length === 0) setText(this.#status, 'No indexer database here: only those have a transparency log.');
    else if (state.last.mode !== 'server')
      setText(this.#status, 'Epochs and proofs are given by servers; this is a client.');
    else if (performance.now() - this.#askedAt > EPOCHS_EVERY_MS) void this.#showEpochs();
  }

  /** Shows the proof that the page's address names, once. */
  #showWanted(): void {
    const database = this.#wanted?.get('database');
    const block = this.#wanted?.get('block');
    this.#wanted = null;
    if (database && [...this.#databases.options].some(({ value }) => value === database))
      this.#databases.value = database;
    if (!block) return;
    this.#block.value = block;
    void this.#showProof();
  }

  #turnTo(page: number): void {
    this.#page = page;
    void this.#showEpochs();
  }

  async #showEpochs(): Promise<void> {
    this.#askedAt = performance.now();
    try {
      const path = `/transparency/${this.#databases.value}/epochs?page=${this.#page}&limit=${EPOCHS}`;
      const { total, results } = (await ask(path)) as Epochs;
      setText(
        this.#status,
        total === 0
          ? 'No epoch is committed yet.'
          : total === 1
            ? 'One epoch is committed.'
            : `${count(total)} epochs are committed.`
      );
      setText(this.#open, this.#page === 0 ? openText(results[0], this.#height) : '');
      this.#newer.disabled = this.#page === 0;
      this.#older.disabled = (this.#page + 1) * EPOCHS >= total;
      this.#epochs.update(
        results.map(({ epoch, merkle_root, start_block, end_block, leaf_count, created_at }) => ({
          key: String(epoch),
          cells: [
            count(epoch),
            `${count(start_block)} to ${count(end_block)}`,
            count(leaf_count),
            h('code', { class: 'wide' }, merkle_root),
            whenCell(Date.parse(created_at), agoText(Date.parse(created_at)))
          ]
        }))
      );
    } catch (fault) {
      setText(this.#status, (fault as Error).message || 'the key is not accepted');
    }
  }

  async #showProof(): Promise<void> {
    const block = Number(this.#block.value);
    const database = this.#databases.value;
    notePlace({ database, block: String(block) });
    this.#result.hidden = false;
    try {
      const proof = (await ask(`/transparency/${database}/proof/${block}`)) as Proof;
      if (proof.error) this.#result.replaceChildren(h('p', {}, proof.error));
      else this.#result.replaceChildren(...proofParts(database, block, proof, await this.#entryOf(block)));
    } catch (fault) {
      this.#result.replaceChildren(h('p', { class: 'bad' }, (fault as Error).message || 'the key is not accepted'));
    }
  }

  /** Finds the block's own line of the log: newest first, so its page is where its distance from the newest says. */
  async #entryOf(block: number): Promise<LogEntry | undefined> {
    const page = async (number: number) =>
      (await ask(`/transparency/${this.#databases.value}/roots?page=${number}&limit=${PAGE}`)) as Page;
    const newest = (await page(0)).results[0]?.block_index ?? block;
    const near = Math.max(0, Math.floor((newest - block) / PAGE));
    return (await page(near)).results.find(({ block_index }) => block_index === block);
  }
}

/** Returns the progress of the epoch that is open, by the newest one that is committed. */
function openText(newest: Epoch | undefined, height: number | null): string {
  if (!newest || height === null || height < newest.end_block) return '';
  return `The open epoch has ${count(height - newest.end_block)} of ${count(newest.leaf_count)} blocks.`;
}
