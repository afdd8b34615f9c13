import { type Cost, costOf, type Shape } from './cost.ts';
import { PIECES, type Piece } from './pieces.ts';
import type { Scale } from './scale.ts';

export type By = 'rows' | 'ms';
const COSTLIEST = 4;

/**
 * Searches for the blocks that cost most: each piece alone, then the costliest with others beside them.
 *
 * @param log  gets the cost of each block that was tried
 * @returns the costliest few, by rows and by time
 */
export function searchWorst(scale: Scale, log: (cost: Cost) => void): Record<By, readonly Cost[]> {
  const tryOne = (shape: Shape) => {
    const cost = costOf(shape, scale);
    log(cost);
    return cost;
  };
  const tried = Object.keys(PIECES).flatMap((piece: Piece) =>
    [true, false].map((isBatched) => tryOne({ pieces: [piece], isBatched }))
  );
  const costliest = (by: By) => tried.toSorted((a, b) => b[by] - a[by]).slice(0, COSTLIEST);
  for (const by of ['rows', 'ms'] as const) {
    const [first, ...others] = costliest(by);
    const edits = { pieces: ['LIST that is edited'] };
    for (const { pieces } of [...others, edits])
      tried.push(tryOne({ pieces: [...first!.pieces, ...pieces], isBatched: first!.isBatched }));
  }
  return { rows: costliest('rows'), ms: costliest('ms') };
}
