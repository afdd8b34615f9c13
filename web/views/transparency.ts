import { count, h, setText, Table } from '../dom.ts';
import { ask, type LiveState } from '../live.ts';
import { climb, leafOf, type ProofStep } from './proof.ts';
import type { View } from './view.ts';

interface Entry {
  readonly block_index: number;
  readonly ledger_hash: string | null;
  readonly actions_hash: string | null;
  readonly contract_hash: string | null;
}
interface Page {
  readonly total: number;
  readonly results: readonly Entry[];
}
interface Proof {
  readonly epoch: number;
  readonly leaf: string;
  readonly merkleRoot: string;
  readonly proof: readonly ProofStep[];
  readonly error?: string;
}
interface Epochs {
  readonly total: number;
  readonly results: readonly {
    readonly epoch: number;
    readonly merkle_root: string;
    readonly start_block: number;
    readonly end_block: number;
    readonly leaf_count: number;
    readonly created_at: string;
  }[];
}
const PAGE = 100;
const EPOCHS = 10;
const EPOCHS_EVERY_MS = 10_000;

/** The transparency log: its epochs and roots, and any block's inclusion proof, verified here and not by the service. */
export class Transparency implements View {
  readonly element = h('section', {}, h('h2', {}, 'Transparency log'));
  readonly #databases = h('select', { 'aria-label': 'Database', change: () => this.#turnTo(0) });
  readonly #block = h('input', { type: 'number', min: '1', step: '1', required: true });
  readonly #told = h('p', { role: 'status' });
  readonly #epochs = new Table('Epochs', ['Epoch', 'Blocks', 'Leaves', 'Root', 'Committed']);
  readonly #newer = h('button', { type: 'button', click: () => this.#turnTo(this.#page - 1) }, 'Newer');
  readonly #older = h('button', { type: 'button', click: () => this.#turnTo(this.#page + 1) }, 'Older');
  readonly #result = h('div', { class: 'card', hidden: true, role: 'status' });
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
      this.#told,
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
    if (keys.length === 0) setText(this.#told, 'No indexer database here: only those have a transparency log.');
    else if (state.last.mode !== 'server')
      setText(this.#told, 'Epochs and proofs are given by servers; this is a client.');
    else if (performance.now() - this.#askedAt > EPOCHS_EVERY_MS) void this.#showEpochs();
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
        this.#told,
        total === 0
          ? 'No epoch is committed yet.'
          : total === 1
            ? 'One epoch is committed.'
            : `${count(total)} epochs are committed.`
      );
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
            new Date(created_at).toLocaleString()
          ]
        }))
      );
    } catch (fault) {
      setText(this.#told, (fault as Error).message || 'the key is not accepted');
    }
  }

  async #showProof(): Promise<void> {
    const block = Number(this.#block.value);
    this.#result.hidden = false;
    try {
      const proof = (await ask(`/transparency/${this.#databases.value}/proof/${block}`)) as Proof;
      if (proof.error) this.#result.replaceChildren(h('p', {}, proof.error));
      else this.#result.replaceChildren(...drawProof(block, proof, await this.#entryOf(block)));
    } catch (fault) {
      this.#result.replaceChildren(h('p', { class: 'bad' }, (fault as Error).message || 'the key is not accepted'));
    }
  }

  /** The block's own line of the log: newest first, so its page is where its distance from the newest says. */
  async #entryOf(block: number): Promise<Entry | undefined> {
    const page = async (number: number) =>
      (await ask(`/transparency/${this.#databases.value}/roots?page=${number}&limit=${PAGE}`)) as Page;
    const newest = (await page(0)).results[0]?.block_index ?? block;
    const near = Math.max(0, Math.floor((newest - block) / PAGE));
    return (await page(near)).results.find(({ block_index }) => block_index === block);
  }
}

function drawProof(block: number, { epoch, leaf, merkleRoot, proof }: Proof, entry: Entry | undefined): Element[] {
  const path = climb(leaf, proof);
  const isRoot = path.at(-1) === merkleRoot;
  const isLeaf = entry !== undefined && leafOf(entry) === leaf;
  const short = (hash: string) => `${hash.slice(0, 12)}…${hash.slice(-6)}`;
  const steps = proof.map(({ hash, position }, index) => {
    const pair = position === 'left' ? [hash, path[index]!] : [path[index]!, hash];
    return h(
      'li',
      {},
      `SHA-256(${pair.map(short).join(' + ')}) = ${short(path[index + 1]!)}; sibling on the ${position}`
    );
  });
  return [
    h(
      'p',
      { class: isRoot && isLeaf ? 'good' : 'bad', id: 'verdict' },
      isRoot && isLeaf
        ? `Verified here: block ${count(block)} is in epoch ${count(epoch)}.`
        : `Not verified: ${isLeaf ? 'the proof does not lead to the root' : "the leaf is not the hash of the block's three hashes"}.`
    ),
    h('p', { class: 'mono' }, `leaf ${leaf}`),
    h('ol', { class: 'proof mono' }, ...steps),
    h('p', { class: 'mono' }, `root ${merkleRoot}`)
  ];
}
