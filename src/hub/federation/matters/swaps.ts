import { swapMachine } from '../../../../machines/hub/swap.ts';
import { stateAfter } from '../../store/decide.ts';
import type { MatterStep } from './operations.ts';
import { type Attestation, attestationId, type Matter, type Swap } from './records.ts';
import { type MatterFacts, SETTLE_MS } from './rules.ts';

type StepOf<T extends MatterStep['type']> = Extract<MatterStep, { type: T }>;
type SwapEvent = Parameters<typeof stateAfter<typeof swapMachine>>[2][number];

/** A swap, and the attestations of its two actions; undefined where there is none. */
export interface SwapWithActions {
  readonly swap: Swap;
  readonly source: Attestation | undefined;
  readonly destination: Attestation | undefined;
}

/** Pause before a destination's action is asked for again that was not there. */
const ASK_AGAIN_MS = 3_600_000;
/** Events that lead to each state of a swap. */
const WAY: Readonly<Record<Exclude<Swap['status'], 'failed'>, readonly SwapEvent[]>> = {
  initiated: [],
  attested: [{ type: 'attestation.attested' }],
  executed: [{ type: 'attestation.attested' }, { type: 'action.executed' }],
  settled: [{ type: 'attestation.attested' }, { type: 'action.executed' }, { type: 'swap.settled' }]
};

/**
 * Notes a swap, or moves one on as far as attestations allow. The same again changes nothing else; the destination's action may be added
 * later.
 */
export function noteSwap(
  facts: MatterFacts,
  submitter: string,
  { chain, index, destination, destinationIndex }: StepOf<'swap'>,
  time: number
): readonly Matter[] | string {
  const id = `${chain}:${index}`;
  const known = facts.matters.find((matter): matter is Swap => matter.kind === 'swap' && matter.id === id);
  const find = (attestation: string | null) =>
    facts.matters.find((one): one is Attestation => one.kind === 'attestation' && one.id === attestation);
  if (known && known.status !== 'failed') {
    if (known.destination !== destination) return differs(id, known.destination, destination);
    if (destinationIndex !== null && known.destinationIndex !== null && known.destinationIndex !== destinationIndex)
      return differs(id, `action ${known.destinationIndex}`, `action ${destinationIndex}`);
    const swap = { ...known, destinationIndex: known.destinationIndex ?? destinationIndex };
    const source = find(attestationId(chain, index, destination));
    const asked = destinationIndex === null ? null : destinationId(swap);
    const moved = moveOn({ swap, source, destination: find(asked) }, time);
    const isSame = moved.status === known.status && moved.destinationIndex === known.destinationIndex;
    return isSame ? [] : [moved];
  }
  const swap: Swap = {
    kind: 'swap',
    id,
    number: facts.next,
    submitter,
    begunAt: time,
    endsAt: null,
    decidedAt: null,
    chain,
    index,
    destination,
    destinationIndex,
    attestation: null,
    status: 'initiated'
  };
  const attestation = find(attestationId(chain, index, destination));
  return [attestation?.status === 'attested' ? followed(swap, attestation) : swap];
}

function differs(id: string, goesTo: string, asked: string): string {
  return `the swap of ${id} goes to ${goesTo} already, not to ${asked}`;
}

/** Returns the id of the attestation of a swap's destination action; null where that is not known. */
export function destinationId({ chain, destination, destinationIndex }: Swap): string | null {
  return destinationIndex === null ? null : attestationId(destination, destinationIndex, chain);
}

/** Returns a swap after its source action was attested, or was not. One that is settled stays so. */
export function followed(swap: Swap, { id, status }: Attestation): Swap {
  if (swap.status === 'settled') return swap;
  if (status === 'attested') return { ...swap, attestation: id, decidedAt: null, status: stateOf(WAY.attested) };
  const lost: SwapEvent = {
    type: swap.status === 'initiated' || swap.status === 'failed' ? 'attestation.refused' : 'action.failed'
  };
  return { ...swap, status: stateOf([...(swap.status === 'failed' ? [] : WAY[swap.status]), lost]) };
}

/** Returns a swap as far as the attestations of its actions allow: a question about its destination that was too early fails none. */
function moveOn({ swap, source, destination }: SwapWithActions, time: number): Swap {
  const step = nextStep({ swap, source, destination }, time);
  if (step === null || swap.status === 'failed') return swap;
  const status = stateOf([...WAY[swap.status], { type: step }]);
  return { ...swap, status, decidedAt: time };
}

function nextStep({ swap, source, destination }: SwapWithActions, time: number): SwapEvent['type'] | null {
  const isAttested = source?.status === 'attested' && destination?.status === 'attested';
  if (swap.status === 'attested') return isAttested ? 'action.executed' : null;
  if (swap.status !== 'executed') return null;
  if (destination?.status === 'rejected') return 'action.failed'; // a reorg took it away
  return isAttested && time >= settlesAt(swap, [source, destination]) ? 'swap.settled' : null;
}

function settlesAt({ decidedAt }: Swap, actions: readonly Attestation[]): number {
  return actions.reduce((last, action) => Math.max(last, action.decidedAt ?? 0), decidedAt ?? 0) + SETTLE_MS;
}

/**
 * Returns what the hub that began a swap has to do for it now; null for nothing. It asks for the destination's action again and again,
 * since that may come later, then for the source's where what was attested of it is kept no more, or was taken back.
 *
 * @param now  epoch milliseconds
 */
export function dueStep({ swap, source, destination }: SwapWithActions, now: number): MatterStep | null {
  const { chain, index, destinationIndex } = swap;
  if (destinationIndex === null) return null;
  if (nextStep({ swap, source, destination }, now) !== null)
    return { type: 'swap', chain, index, destination: swap.destination, destinationIndex };
  if (swap.status !== 'attested' && swap.status !== 'executed') return null;
  const isDue = (asked: Attestation | undefined) =>
    asked?.status !== 'pending' && asked?.status !== 'attested' && now >= (asked?.decidedAt ?? 0) + ASK_AGAIN_MS;
  if (destinationIndex > 0 && isDue(destination))
    return { type: 'attest', chain: swap.destination, index: destinationIndex, destination: chain };
  const isWaitedFor = destination?.status === 'attested' && isDue(source);
  return isWaitedFor ? { type: 'attest', chain, index, destination: swap.destination } : null;
}

function stateOf(events: readonly SwapEvent[]): Swap['status'] {
  return stateAfter(swapMachine, undefined, events) as Swap['status'];
}
