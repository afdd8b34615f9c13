import { type Cell, count, h, setText, Table } from '../dom.ts';
import { drawRing } from '../drawing/ring.ts';
import { callMethod, type LiveState } from '../live.ts';
import {
  ATTESTATION_COLUMNS,
  type AttestationWords,
  attestationCells,
  PROPOSAL_COLUMNS,
  type ProposalWords,
  proposalCells,
  SWAP_COLUMNS,
  type SwapWords,
  swapCells
} from './federation-matters.ts';
import { type FederationWords, findTrouble, shortKey } from './federation-words.ts';
import type { View } from './view.ts';

interface Capability {
  readonly signing_pubkey: string;
  readonly capability: string;
  readonly qualified: number;
  readonly self_test_ok: number | null;
  readonly enabled: number;
  readonly self_test_msg: string | null;
}
interface Round {
  readonly round: number;
  readonly timestamp: number;
  readonly pairs: readonly { readonly pair: string; readonly price: string | null }[];
  readonly qualified: readonly string[];
  readonly counted: readonly string[];
  readonly far: readonly string[];
  readonly split: readonly string[];
  readonly signatures: readonly unknown[];
  readonly publishable: boolean;
}
interface Evidence {
  readonly against: string;
  readonly place: string;
  readonly noted_at: string;
}
interface SlashEvidence {
  readonly round: number;
  readonly pubkey: string;
  readonly reason: string;
}

const EVERY_MS = 3_000;
/** Rounds and capabilities change seldom: requests of a page count for its address. */
const SELDOM_MS = 15_000;
const ROUNDS = 20;
/** Attestations, swaps and proposals, each. */
const MATTERS = 20;
const CAPABILITIES = ['price', 'cross_chain', 'oracle_publish', 'attestation'] as const;
const REASONS: Readonly<Record<string, string>> = {
  missed: 'missed more than 10 rounds in a row',
  deviation: 'told a price more than 10 % from the others',
  equivocation: 'signed two submissions for one round'
};

/** The set of hubs: who is missing and why writes wait, what each is capable of, the rounds of prices, and who lied. */
export class Federation implements View {
  readonly element = h('section', {}, h('h2', {}, 'The set of hubs'));
  readonly #status = h('p', { role: 'status', id: 'set-state' });
  readonly #ring = h('div', { class: 'ring' });
  readonly #members = new Table('Hubs', ['Hub', 'Part', 'Connection', 'Self-tests that fail']);
  readonly #capabilities = new Table('Capabilities', ['Hub', ...CAPABILITIES]);
  readonly #rounds = new Table('Rounds', ['Round', 'End of the window', 'BTC/USD', 'Told it', 'Missed it', 'Signed']);
  readonly #attestations = new Table('Attestations', ATTESTATION_COLUMNS);
  readonly #swaps = new Table('Swaps', SWAP_COLUMNS);
  readonly #proposals = new Table('Proposals', PROPOSAL_COLUMNS);
  readonly #evidence = new Table('Evidence', ['Hub', 'Evidence', 'Where']);
  readonly #none = h('p', { class: 'quiet' }, 'No hub has signed two things for one place, or been far off.');
  #askedAt = Number.NEGATIVE_INFINITY;
  #askedSeldomAt = Number.NEGATIVE_INFINITY;

  constructor() {
    const card = (title: string, ...content: readonly Element[]) => [
      h('h2', {}, title),
      h('div', { class: 'card' }, ...content)
    ];
    this.element.append(
      this.#status,
      h('div', { class: 'card' }, this.#ring, this.#members.element),
      ...card('Capabilities', this.#capabilities.element),
      ...card('Rounds of prices, newest first', this.#rounds.element),
      ...card('Attestations, newest first', this.#attestations.element),
      ...card('Swaps, newest first', this.#swaps.element),
      ...card('Proposals, newest first', this.#proposals.element),
      ...card('Evidence', this.#evidence.element, this.#none)
    );
  }

  update(_state: LiveState): void {
    const now = performance.now();
    if (now - this.#askedAt > EVERY_MS) {
      this.#askedAt = now;
      void this.#look();
    }
    if (now - this.#askedSeldomAt > SELDOM_MS) {
      this.#askedSeldomAt = now;
      void this.#lookSeldom();
    }
  }

  async #look(): Promise<void> {
    try {
      const set = (await callMethod('getfederation', {})) as FederationWords;
      const { text, kind } = findTrouble(set);
      setText(this.#status, text);
      this.#status.className = kind;
      this.#ring.replaceChildren(drawRing(set));
      this.#members.update(
        set.members.map(({ pubkey, connected }) => ({ key: pubkey, cells: memberCells(set, pubkey, connected) }))
      );
    } catch (fault) {
      setText(this.#status, (fault as Error).message || 'the key is not accepted');
      this.#status.className = 'bad';
    }
  }

  async #lookSeldom(): Promise<void> {
    try {
      const [capabilities, rounds, evidence, slashes] = (await Promise.all([
        callMethod('getvalidatorcapabilities', {}),
        callMethod('getpricerounds', { limit: ROUNDS }),
        callMethod('getevidence', {}),
        callMethod('getslashevidence', {})
      ])) as [Capability[], Round[], Evidence[], SlashEvidence[]];
      this.#showCapabilities(capabilities);
      this.#rounds.update(rounds.map((round) => ({ key: String(round.round), cells: roundCells(round) })));
      await this.#showMatters();
      this.#none.hidden = evidence.length + slashes.length > 0;
      this.#evidence.update([
        ...evidence.map(({ against, place, noted_at }) => ({
          key: `${against} ${place}`,
          cells: [shortKey(against), { text: `signed two messages at ${place}`, kind: 'bad' as const }, noted_at]
        })),
        ...slashes.map(({ round, pubkey, reason }) => ({
          key: `${pubkey} ${round} ${reason}`,
          cells: [shortKey(pubkey), { text: REASONS[reason] ?? reason, kind: 'warn' as const }, `round ${count(round)}`]
        }))
      ]);
    } catch {
      this.#askedSeldomAt = performance.now(); // the line above the ring tells that nothing answers
    }
  }

  async #showMatters(): Promise<void> {
    const [attestations, swaps, proposals] = (await Promise.all(
      ['getattestations', 'getswaps', 'getproposals'].map((method) => callMethod(method, { limit: MATTERS }))
    )) as [AttestationWords[], SwapWords[], ProposalWords[]];
    this.#attestations.update(attestations.map((one) => ({ key: one.attestation_id, cells: attestationCells(one) })));
    this.#proposals.update(proposals.map((one) => ({ key: one.proposal_id, cells: proposalCells(one) })));
    this.#swaps.update(
      swaps.map((one) => ({ key: `${one.source_chain} ${one.source_action_index}`, cells: swapCells(one) }))
    );
  }

  #showCapabilities(found: readonly Capability[]): void {
    const keys = [...new Set(found.map(({ signing_pubkey }) => signing_pubkey))].toSorted();
    this.#capabilities.update(
      keys.map((key) => ({
        key,
        cells: [
          shortKey(key),
          ...CAPABILITIES.map((name) =>
            capabilityCell(found.find((one) => one.signing_pubkey === key && one.capability === name))
          )
        ]
      }))
    );
  }
}

function memberCells(set: FederationWords, pubkey: string, connected: boolean): readonly Cell[] {
  const parts = [pubkey === set.self ? 'this hub' : '', pubkey === set.leader ? 'leads' : ''].filter(Boolean);
  const failing = set.tests.filter((one) => one.pubkey === pubkey && !one.ok);
  return [
    h('code', { title: pubkey }, shortKey(pubkey)),
    parts.join(', '),
    connected ? { text: 'connected', kind: 'good' } : { text: 'missing', kind: 'bad' },
    { text: failing.map(({ capability, reason }) => `${capability}: ${reason ?? 'fails'}`).join('; '), kind: 'wide' }
  ];
}

function capabilityCell(found: Capability | undefined): Cell {
  if (!found || (found.enabled === 1 && found.qualified === 0)) return { text: 'not qualified', kind: 'quiet' };
  if (found.enabled === 0) return { text: 'off', kind: 'quiet' };
  if (found.self_test_ok === 1) return { text: 'ready', kind: 'good' };
  return { text: `qualified, not ready: ${found.self_test_msg ?? ''}`, kind: 'warn' };
}

function roundCells(round: Round): readonly Cell[] {
  const { qualified, counted, far, split, signatures, publishable, pairs, timestamp } = round;
  const missed = qualified.filter((key) => !counted.includes(key));
  const named = [
    ...missed.map((key) => shortKey(key)),
    ...far.map((key) => `${shortKey(key)} far off`),
    ...split.map((key) => `${shortKey(key)} signed two`)
  ];
  const price = pairs.find(({ pair }) => pair === 'BTC/USD')?.price;
  return [
    count(round.round),
    new Date(timestamp * 1_000).toLocaleString(),
    price ? price : { text: 'none', kind: 'warn' },
    `${counted.length} of ${qualified.length}`,
    { text: named.join(', '), kind: named.length > 0 ? 'warn' : 'quiet' },
    { text: `${signatures.length}${publishable ? ', enough' : ''}`, kind: publishable ? 'good' : 'busy' }
  ];
}
