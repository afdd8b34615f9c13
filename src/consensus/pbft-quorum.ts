/**
 * Returns the votes that decide among `validators` in PBFT: max(2f+1, ceil((N+1)/2)) with f = floor((N-1)/3).
 *
 * Two such quorums may share no more than f members where N is 5, 8, 9, 11, 12, 14 or 15. Readers of checkpoints ask
 * for more than two thirds (`isQuorum`), so hubs collect signatures of a checkpoint until those have signed.
 *
 * @see the section "States and transitions" of the specification
 */
export function pbftQuorum(validators: number): number {
  const faulty = Math.floor((validators - 1) / 3);
  return Math.max(2 * faulty + 1, Math.ceil((validators + 1) / 2));
}

/**
 * Returns the votes that decide among `validators` so that two quorums always share a hub that does not lie:
 * ceil((N+f+1)/2).
 */
export function byzantineQuorum(validators: number): number {
  const faulty = Math.floor((validators - 1) / 3);
  return Math.ceil((validators + faulty + 1) / 2);
}
