import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOWEST } from '../../src/replication/source/changes/spans.ts';
import { TableWatch } from '../../src/replication/source/changes/table-watch.ts';
import {
  advance,
  isStep,
  type RecentBlock,
  type ResumePoint
} from '../../src/replication/source/reading/resume-point.ts';
import { ResumeSteps } from '../../src/replication/source/reading/resume-steps.ts';
import type { TablePlan } from '../../src/replication/tables/classify.ts';
import fc from '../support/fast-check.ts';

const PLAN = {
  name: 'tokens',
  class: 'mutable',
  scope: null,
  identity: ['id'],
  columns: [],
  storedColumns: []
} as unknown as TablePlan;
const newWatch = () => new TableWatch(PLAN, [], LOWEST, 10);

type Act = (watch: TableWatch) => void;
const value = fc.integer({ min: 0, max: 2_000 });
const checksum = fc.record({ rows: fc.integer({ min: 0, max: 3 }), sum: fc.bigInt(0n, 2n ** 64n - 1n) });
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.tuple(value, checksum).map(
    ([at, sum]): Act =>
      (watch) =>
        watch.add(at, sum)
  ),
  fc.tuple(value, value, checksum).map(
    ([a, b, sum]): Act =>
      (watch) =>
        watch.replace([[Math.min(a, b), Math.max(a, b)]], new Map([[a, sum]]))
  ),
  value.map(
    (at): Act =>
      (watch) =>
        watch.cut(at)
  ),
  value.map(
    (at): Act =>
      (watch) =>
        watch.require([[at, at + 1]])
  ),
  fc.constant<Act>((watch) => watch.require([null])),
  fc.constant<Act>((watch) => watch.requireAll()),
  fc.constant<Act>((watch) => {
    watch.pending = [];
  }),
  value.map(
    (id): Act =>
      (watch) => {
        watch.lastId = id;
      }
  ),
  fc.constant<Act>((watch) => watch.trim())
);

test('a watch keeps the same as one that was never asked before', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(act, fc.boolean()), { maxLength: 40 }), (acts) => {
      const asked = newWatch();
      const done: Act[] = [];
      for (const [run, isKnown] of acts) {
        run(asked);
        done.push(run);
        const fresh = newWatch();
        for (const each of done) each(fresh);
        assert.deepEqual(asked.keep(isKnown), fresh.keep(isKnown));
        assert.equal(asked.keep(isKnown), asked.keep(isKnown));
      }
    }),
    { numRuns: 100 }
  );
});

test('no value that a source has to look at lies beyond the safe integers: a resume point with such a span is unreadable', () => {
  const watch = new TableWatch(PLAN, [], 1_024, 10);
  watch.rangesFrom = LOWEST; // a sweep has passed it
  watch.replace([[LOWEST, 300]], new Map());
  watch.require(watch.unknownSpans);
  assert.deepEqual(
    watch.pending.flat().filter((bound) => !Number.isSafeInteger(bound)),
    []
  );
});

test('steps lead to the point of which they were told', () => {
  const group = fc.record({
    blocks: fc.integer({ min: 0, max: 3 }),
    parts: fc.integer({ min: 0, max: 60 }),
    table: fc.integer({ min: 0, max: 3 }),
    isUncertain: fc.boolean(),
    reorg: fc.integer({ min: 0, max: 12 })
  });
  fc.assert(
    fc.property(fc.array(group, { minLength: 1, maxLength: 60 }), (groups) => {
      const steps = new ResumeSteps();
      const tables = Array.from({ length: 4 }, newWatch);
      let recent: RecentBlock[] = [];
      let [height, reorgs] = [0, 0];
      let kept: ResumePoint | undefined;
      for (const { blocks, parts, table, isUncertain, reorg } of groups) {
        if (reorg === 0 && height > 2) {
          [height, reorgs] = [height - 2, reorgs + 1];
          recent = recent.filter((block) => block.height <= height);
          steps.noteOther();
        }
        const spans = { tokens: Array.from({ length: parts }, (_, at): [number, number] => [2 * at, 2 * at]) };
        for (let left = blocks; left > 0; left -= 1) {
          height += 1;
          recent.push({ height, hashes: hashesOf(height), ...(parts > 0 && { older: { spans, lastIdsBefore: {} } }) });
          steps.noteBlock();
        }
        tables[table]!.lastId = height;
        const watches = Object.fromEntries(tables.map((watch, at) => [`t${at}`, watch.keep(!isUncertain)]));
        const point: ResumePoint = {
          algorithm: 3,
          height,
          blockTime: height,
          hashes: hashesOf(height),
          recent,
          openGroup: null,
          reorgs,
          forks: [],
          lookupIds: { names: height },
          watches
        };
        const answer = steps.tell(point, isUncertain, () => true);
        kept = structuredClone(isStep(answer) ? advance(kept!, answer) : answer);
        assert.deepEqual(kept, point);
      }
    }),
    { numRuns: 200 }
  );
});

test('no block is told twice, and the whole comes again before the file grows without bound', () => {
  const steps = new ResumeSteps();
  const facts = newWatch().keep(true);
  let sinceWhole = 0;
  for (let height = 1; height <= 2_000; height += 1) {
    steps.noteBlock();
    const recent = [{ height, hashes: hashesOf(height) }];
    const point = { height, blockTime: 1, hashes: hashesOf(height), recent, openGroup: null, lookupIds: {} };
    const answer = steps.tell({ ...point, watches: { t: facts } }, false, () => true);
    sinceWhole = isStep(answer) ? sinceWhole + 1 : 0;
    assert.ok(sinceWhole <= 256);
    if (isStep(answer)) assert.deepEqual([answer.added.length, answer.watches], [1, {}]);
  }
});

function hashesOf(height: number) {
  return { block_hash: String(height) } as unknown as ResumePoint['hashes'];
}
