import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Cost, costOf, type Shape } from '../../../test/support/cost/cost.ts';
import { PIECES } from '../../../test/support/cost/pieces.ts';
import { scaledBy } from '../../../test/support/cost/scale.ts';
import { target } from '../support/target.ts';

/** A hundredth of a full block, on a hundredth of everything that its ledger has. */
const SCALE = scaledBy(100);
const BYTES_PER_ROW = 2;
/** 60 s for a full block. */
const MOST_MS = 60_000 / 100;

const piece = fc.constantFrom(...Object.keys(PIECES));
/** A block and how it changes: what makes it costlier stays. */
interface Climb extends Shape {
  readonly others: readonly string[];
}

/** Adds other pieces one by one, keeps those with which the block makes more rows for its bytes or takes longer. */
function* climb({ others, ...start }: Climb): Generator<Cost> {
  for (const by of ['rows', 'ms'] as const) {
    let worst = costOf(start, SCALE);
    yield worst;
    for (const other of others) {
      const cost = costOf({ ...worst, pieces: [...worst.pieces, other] }, SCALE);
      yield cost;
      if (cost[by] > worst[by]) worst = cost;
    }
  }
}

export const cost = target<Climb>({
  name: 'cost',
  promise: 'no block makes more than a row for two of its bytes, or takes longer than a minute for a megabyte',
  runs: 60,
  shortRuns: 6,
  inputs: fc.record({
    pieces: fc.array(piece, { minLength: 1, maxLength: 3 }),
    isBatched: fc.boolean(),
    others: fc.array(piece, { maxLength: 3 })
  }),
  check: (start) => {
    for (const { name, rows, ms } of climb(start)) {
      assert.ok(rows <= SCALE.blockBytes / BYTES_PER_ROW, `${rows} rows of ${SCALE.blockBytes} bytes: ${name}`);
      assert.ok(ms <= MOST_MS, `${ms} ms: ${name}`);
    }
  }
});
