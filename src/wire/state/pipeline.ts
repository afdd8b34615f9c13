/**
 * States of a part of the pipeline. `well`: at the tip; `working`: on its way there; `waiting`: for something that mends without an
 * operator; `failed`: until an operator acts, or out of reach; `unknown`: not heard of yet.
 */
export const PIPELINE_STATES = ['well', 'working', 'waiting', 'failed', 'unknown'] as const;
export type PipelineState = (typeof PIPELINE_STATES)[number];

/** One box: something that blocks come from, pass through, or end in. */
export interface PipelineNode {
  /** Unique in its pipeline. */
  readonly id: string;
  /** The database it works for, `indexer/bitcoin/mainnet`; null where it works for all. */
  readonly lane: string | null;
  /** Its kind, such as `coin node`, `source` or `replica`. */
  readonly role: string;
  readonly name: string;
  readonly state: PipelineState;
  /** One or two words: `live`, `catching up`. */
  readonly doing: string;
  /** Time since which it is so, in Unix milliseconds; null where that is not known. */
  readonly since: number | null;
  readonly height: number | null;
  /** Progress of a long piece of work, 0 to 100. */
  readonly percent: number | null;
  /** Reason why it is not well. */
  readonly reason: string | null;
  /** Number of those that the box stands for; absent: it is one. */
  readonly count?: number | undefined;
}

/** One arrow between two boxes of a lane. */
export interface PipelineEdge {
  readonly from: string;
  readonly to: string;
  readonly state: PipelineState;
  /** The last block that passed. */
  readonly height: number | null;
  /** Blocks that have still to pass. */
  readonly lag: number | null;
  /** Content that passes, if it is not blocks: `hashes only`. */
  readonly carries: string | null;
}

/** The path of blocks through a service, from upstream to downstream. */
export interface Pipeline {
  readonly nodes: readonly PipelineNode[];
  readonly edges: readonly PipelineEdge[];
}

/** A follower so few blocks behind is at the tip: the next block is on its way. */
export const NEAR_BLOCKS = 3;
const MAX_REASON_LETTERS = 300;

/** Returns a box with nothing known but its place. @param lane null if it serves all lanes */
export function boxOf(lane: string | null, role: string, name: string): PipelineNode {
  const nothing = { since: null, height: null, percent: null, reason: null } as const;
  return { id: `${lane ?? 'all'} ${role}`, lane, role, name, state: 'unknown', doing: '', ...nothing };
}

/** Returns an arrow with the state of the box that does the work, at either end. @param height the last block that passed */
export function arrowOf(
  from: PipelineNode,
  to: PipelineNode,
  { state }: Pick<PipelineNode, 'state'>,
  height: number | null
): PipelineEdge {
  const lag = from.height === null || height === null ? null : Math.max(0, from.height - height);
  return { from: from.id, to: to.id, state, height, lag, carries: null };
}

/** A service behind something that it asks, and needs. */
interface ServiceBehind {
  readonly lane: string | null;
  readonly upstream: { readonly role: string; readonly name: string };
  readonly service: string;
  /** `doing`: the service's work while the other part answers; `waitsFor`: its wait while the part does not. */
  readonly doing: string;
  readonly waitsFor: string;
  /** Action while it does not answer. */
  readonly remedy: string;
  readonly carries: string;
}

/** Returns the pipeline of such a service. @param answers whether the other answered when it was asked last */
export function pipelineBehind(
  { lane, upstream, service, doing, waitsFor, remedy, carries }: ServiceBehind,
  answers: boolean
): Pipeline {
  const asked: PipelineNode = {
    ...boxOf(lane, upstream.role, upstream.name),
    state: answers ? 'well' : 'failed',
    doing: answers ? 'answers' : 'cannot be used',
    reason: answers ? null : remedy
  };
  const box: PipelineNode = {
    ...boxOf(lane, service, service),
    state: answers ? 'well' : 'waiting',
    doing: answers ? doing : `waits for ${waitsFor}`
  };
  return { nodes: [asked, box], edges: [{ ...arrowOf(asked, box, box, null), carries }] };
}

/** Cuts a reason to 300 characters: it may quote a peer's text. */
export function boundReason(reason: string | null | undefined): string | null {
  if (!reason) return null;
  return reason.length <= MAX_REASON_LETTERS ? reason : `${reason.slice(0, MAX_REASON_LETTERS - 1)}…`;
}
