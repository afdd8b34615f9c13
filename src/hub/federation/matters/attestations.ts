import { attestationMachine } from '../../../../machines/hub/attestation.ts';
import { stateAfter } from '../../store/decide.ts';
import { validatorsOf } from './electorate.ts';
import type { MatterStep } from './operations.ts';
import {
  type ActionPlace,
  type ActionWord,
  type Attestation,
  attestationId,
  type Matter,
  type Swap
} from './records.ts';
import { ATTESTATION_MS, actionStatement, type MatterFacts, type MatterRules } from './rules.ts';
import { followed } from './swaps.ts';

type StepOf<T extends MatterStep['type']> = Extract<MatterStep, { type: T }>;

/** Returns the words that say the same place, where most hubs say it; none where no hub has found the action. */
export function certificateOf({ words }: Pick<Attestation, 'words'>): readonly (ActionWord & {
  readonly place: ActionPlace;
  readonly sig: string;
})[] {
  const found = words.flatMap(({ hub, place, sig }) => (place && sig !== null ? [{ hub, place, sig }] : []));
  const groups = Map.groupBy(found, ({ place: { action, height, hash } }) => `${hash} ${height} ${action}`);
  return [...groups.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
}

/** Begins an attestation; anew where an earlier one ended without a quorum. The same again is no change while it is open, or attested. */
export function beginAttestation(
  rules: MatterRules,
  facts: MatterFacts,
  submitter: string,
  { chain, index, destination }: StepOf<'attest'>,
  time: number
): readonly Matter[] | string {
  const id = attestationId(chain, index, destination);
  const known = findAttestation(facts, id);
  if (known?.status === 'attested' || known?.status === 'pending') return [];
  const validators = validatorsOf(rules, facts);
  if (typeof validators === 'string') return validators;
  const begun: Attestation = {
    kind: 'attestation',
    id,
    number: facts.next,
    submitter,
    begunAt: time,
    endsAt: time + ATTESTATION_MS,
    decidedAt: null,
    chain,
    index,
    destination,
    status: 'pending',
    turn: (known?.turn ?? 0) + 1,
    validators,
    words: [],
    reorg: null
  };
  return [begun];
}

/** Counts a hub's word about an action, once for each turn. */
export function sayAction(
  rules: MatterRules,
  facts: MatterFacts,
  hub: string,
  { id, turn, place, sig }: StepOf<'action-word'>,
  time: number
): readonly Matter[] | string {
  const known = findAttestation(facts, id);
  if (!known) return `no attestation has the id ${id}`;
  if (known.status !== 'pending') return `the attestation ${id} is ${known.status}`;
  if (known.turn !== turn) return `the attestation ${id} is in turn ${known.turn}, not ${turn}`;
  if (!known.validators.includes(hub)) return `this hub did not qualify for cross_chain when ${id} began`;
  if (known.words.some((word) => word.hub === hub)) return `this hub has said something about ${id}`;
  if (place && (sig === null || !rules.isSigned(actionStatement(known, place), hub, sig)))
    return `the signature is none of the statement about ${id}`;
  return settle({ ...known, words: [...known.words, { hub, place, sig }] }, facts, time);
}

/** Ends an attestation that too few hubs have said something about. */
export function expireAttestation(attestation: Attestation, time: number): Attestation {
  return decided({ ...attestation, status: statusOf(attestation, true) }, time);
}

/** Takes back what hubs have said of actions at a height of a chain and above: they say it anew. */
export function takeBack(
  rules: MatterRules,
  facts: MatterFacts,
  { chain, height, reorg }: { readonly chain: string; readonly height: number; readonly reorg: string },
  time: number
): readonly Attestation[] {
  const validators = validatorsOf(rules, facts);
  return facts.matters.flatMap((matter) => {
    if (matter.kind !== 'attestation' || matter.chain !== chain) return [];
    if (matter.status !== 'pending' && matter.status !== 'attested') return [];
    if (!matter.words.some(({ place }) => place !== null && place.height >= height)) return [];
    const again: Attestation = {
      ...matter,
      status: 'pending',
      turn: matter.turn + 1,
      endsAt: time + ATTESTATION_MS,
      decidedAt: null,
      validators: typeof validators === 'string' ? matter.validators : validators,
      words: [],
      reorg
    };
    return [again];
  });
}

/** Returns an attestation as its words decide it, and the swap that follows it. */
function settle(attestation: Attestation, facts: MatterFacts, time: number): readonly Matter[] {
  const status = statusOf(attestation);
  if (status === 'pending') return [attestation];
  const settled = decided({ ...attestation, status }, time);
  const { chain, index, destination } = attestation;
  const swap = facts.matters.find(
    (matter): matter is Swap => matter.kind === 'swap' && matter.id === `${chain}:${index}`
  );
  return swap?.destination === destination ? [settled, followed(swap, settled)] : [settled];
}

/** Returns the state that words lead to. Words that contradict most others count as refusals. */
function statusOf(attestation: Attestation, isOver = false): Attestation['status'] {
  const { validators, words } = attestation;
  const signatures = certificateOf(attestation).length;
  const events = [
    ...Array.from({ length: signatures }, () => ({ type: 'signature.received' }) as const),
    ...Array.from({ length: words.length - signatures }, () => ({ type: 'refusal.received' }) as const),
    ...(isOver ? [{ type: 'time.expired' } as const] : [])
  ];
  return stateAfter(attestationMachine, { validators: validators.length }, events) as Attestation['status'];
}

function decided(attestation: Attestation, time: number): Attestation {
  return { ...attestation, endsAt: null, decidedAt: time };
}

function findAttestation({ matters }: MatterFacts, id: string): Attestation | undefined {
  return matters.find((matter): matter is Attestation => matter.kind === 'attestation' && matter.id === id);
}
