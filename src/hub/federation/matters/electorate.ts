import { pbftQuorum } from '../../../consensus/pbft-quorum.ts';
import type { MatterFacts, MatterRules } from './rules.ts';

/**
 * Returns who may say something about a chain, or why nobody may: hubs tell their own stakes, so those that lie may be all that qualify.
 * Their quorum must have more hubs than may lie.
 */
export function validatorsOf(
  { keys, faulty }: MatterRules,
  { qualified }: Pick<MatterFacts, 'qualified'>
): readonly string[] | string {
  const validators = keys.filter((key) => qualified.includes(key));
  if (validators.length === 0) return 'no hub of the set qualifies for cross_chain';
  const quorum = pbftQuorum(validators.length);
  if (quorum > faulty) return validators;
  return `${validators.length} hubs of the set qualify for cross_chain: all ${quorum} that decide could lie`;
}
