import { count, h, saveJson, setText } from '../dom.ts';
import { climb, leafOf, type ProofStep } from './proof.ts';

/** The three hashes of one block in the log. */
export interface LogEntry {
  readonly block_index: number;
  readonly ledger_hash: string | null;
  readonly actions_hash: string | null;
  readonly contract_hash: string | null;
}

/** An inclusion proof as the service gives it. */
export interface Proof {
  readonly epoch: number;
  readonly leaf: string;
  readonly merkleRoot: string;
  readonly proof: readonly ProofStep[];
  readonly error?: string;
}

/** Returns the verdict on a proof, made here, the way from the leaf to the root, and what to do with the root. */
export function proofParts(database: string, block: number, proof: Proof, entry: LogEntry | undefined): Element[] {
  const { epoch, leaf, merkleRoot } = proof;
  const path = climb(leaf, proof.proof);
  const isRoot = path.at(-1) === merkleRoot;
  const isLeaf = entry !== undefined && leafOf(entry) === leaf;
  const isProved = isRoot && isLeaf;
  return [
    h(
      'p',
      { class: isProved ? 'good' : 'bad', id: 'verdict' },
      isProved
        ? `Verified here: block ${count(block)} is in epoch ${count(epoch)}.`
        : `Not verified: ${isLeaf ? 'the proof does not lead to the root' : "the leaf is not the hash of the block's three hashes"}.`
    ),
    h('p', { class: 'mono' }, `leaf ${leaf}`),
    h('ol', { class: 'proof mono' }, ...proof.proof.map((step, index) => stepOf(step, path, index))),
    h('p', { class: 'mono' }, `root ${merkleRoot}`),
    comparison(merkleRoot),
    h(
      'div',
      { class: 'bar' },
      h(
        'button',
        { type: 'button', click: (event) => void copy(merkleRoot, event.target as Element) },
        'Copy the root'
      ),
      h(
        'button',
        { type: 'button', click: () => saveJson(`proof-${block}.json`, { database, block, hashes: entry, ...proof }) },
        'Export the proof'
      )
    )
  ];
}

/** Shows one step: the pair that is hashed, the known one in bold. */
function stepOf({ hash, position }: ProofStep, path: readonly string[], index: number): Element {
  const short = (text: string) => `${text.slice(0, 12)}…${text.slice(-6)}`;
  const own = h('b', {}, short(path[index]!));
  const pair = position === 'left' ? [short(hash), ' + ', own] : [own, ' + ', short(hash)];
  const next = h('b', {}, short(path[index + 1]!));
  return h('li', {}, 'SHA-256(', ...pair, ') = ', next, `; sibling on the ${position}`);
}

/** Makes a field that compares the root with one that the reader has from elsewhere. */
function comparison(root: string): Element {
  const status = h('span', { role: 'status' });
  const field = h('input', { size: '40', autocomplete: 'off', placeholder: '64 hex digits' });
  field.addEventListener('input', () => {
    const given = field.value.trim().toLowerCase();
    status.className = given === root ? 'good' : 'bad';
    setText(status, given === '' ? '' : given === root ? 'It is the same root.' : 'It is another root.');
  });
  return h('div', { class: 'bar' }, h('label', {}, 'Root from another source ', field), status);
}

async function copy(text: string, button: Element): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    setText(button, 'Copied');
  } catch {
    setText(button, 'The browser does not allow it'); // without TLS it has no clipboard
  }
}
