import { shortKey } from './federation-words.ts';

/** Content of a cell: a text, or one with a class. */
type TextCell =
  | string
  | { readonly text: string; readonly kind: 'good' | 'busy' | 'warn' | 'quiet' | 'number'; readonly title?: string };

/** Attestation as `getattestations` has it. */
export interface AttestationWords {
  readonly attestation_id: string;
  readonly status: string;
  readonly validator_count: number;
  readonly consensus_proof: string | null;
  readonly created_at: string;
}
/** Proposal as `getproposals` has it. */
export interface ProposalWords {
  readonly proposal_id: string;
  readonly proposer_pubkey: string;
  readonly parameter: string;
  readonly current_value: string | null;
  readonly proposed_value: string;
  readonly status: string;
  readonly voting_end: string;
  readonly validator_snapshot: string;
  readonly approvals: number;
  readonly rejections: number;
}
/** Swap as `getswaps` has it. */
export interface SwapWords {
  readonly source_chain: string;
  readonly source_action_index: number;
  readonly dest_chain: string;
  readonly dest_action_index: number | null;
  readonly status: string;
}

/** Parts of a proof that the page shows. */
interface Proof {
  readonly statement: { readonly height: number; readonly hash: string } | null;
  readonly others: readonly { readonly pubkey: string }[];
  readonly validators: readonly string[];
  readonly turn: number;
  readonly reorg: string | null;
}

const GOOD = new Set(['attested', 'passed', 'executed', 'settled']);
const BUSY = new Set(['pending', 'voting', 'initiated']);

/** Columns of the three tables. */
export const ATTESTATION_COLUMNS = ['Action', 'State', 'Block', 'Signed', 'Said something else', 'Since'];
export const PROPOSAL_COLUMNS = ['Parameter', 'State', 'Change', 'For', 'Against', 'Voting ends', 'Proposed by'];
export const SWAP_COLUMNS = ['From', 'To', 'State'];

/** Returns the cells of an attestation: how many of those that may have signed it, and who contradicts them. */
export function attestationCells({
  attestation_id: id,
  status,
  validator_count: signed,
  consensus_proof: text,
  created_at: since
}: AttestationWords): readonly TextCell[] {
  const proof = text === null ? null : (JSON.parse(text) as Proof);
  const { statement = null, others = [], validators = [], turn = 1, reorg = null } = proof ?? {};
  const [chain, index, destination] = id.split(':');
  const again = turn > 1 ? `, turn ${turn}${reorg === null ? '' : ` after the reorg ${reorg}`}` : '';
  const against = others.map(({ pubkey }) => shortKey(pubkey)).join(', ');
  return [
    `${chain} ${index} for ${destination}`,
    stateCell(status, again),
    statement ? { text: statement.height.toLocaleString('en'), kind: 'number', title: statement.hash } : '',
    `${signed} of ${validators.length}`,
    { text: against, kind: against === '' ? 'quiet' : 'warn' },
    since
  ];
}

/** Returns the cells of a proposal: what it changes, and how the votes stand. */
export function proposalCells({
  parameter,
  status,
  current_value: before,
  proposed_value: after,
  validator_snapshot: electorate,
  approvals,
  rejections,
  voting_end: end,
  proposer_pubkey: proposer
}: ProposalWords): readonly TextCell[] {
  const voters = (JSON.parse(electorate) as readonly string[]).length;
  const needed = Math.ceil((2 * voters) / 3);
  return [
    parameter,
    stateCell(status),
    `${before ?? 'unknown'} to ${after}`,
    `${approvals} of ${needed} needed`,
    `${rejections} of ${voters}`,
    end,
    shortKey(proposer)
  ];
}

/** Returns the cells of a swap. */
export function swapCells(swap: SwapWords): readonly TextCell[] {
  const { source_chain, source_action_index, dest_chain, dest_action_index: index, status } = swap;
  return [
    `${source_chain} ${source_action_index}`,
    index === null ? { text: `${dest_chain}, its action is not known`, kind: 'warn' } : `${dest_chain} ${index}`,
    stateCell(status)
  ];
}

function stateCell(status: string, more = ''): TextCell {
  return { text: status + more, kind: GOOD.has(status) ? 'good' : BUSY.has(status) ? 'busy' : 'warn' };
}
