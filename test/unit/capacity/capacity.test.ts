import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MEASURED } from '../../../src/capacity/constants.ts';
import { type Demand, planCapacity } from '../../../src/capacity/plan.ts';
import { playStorm } from '../../../src/capacity/storm.ts';
import { createRandom } from '../../../src/devnet/random.ts';
import { runCommandLine } from '../../support/command-line.ts';
import fc from '../../support/fast-check.ts';

const PERFORMANCE = readFileSync(new URL('../../../docs/performance.md', import.meta.url), 'utf8');
const DEMAND: Demand = {
  subscribers: 1_000_000,
  blockBytes: 20_000,
  blockSeconds: 60,
  edges: 200,
  mbit: 1_000,
  snapshotBytes: 40_000_000,
  snapshotsPerDay: 10_000,
  reconnectSeconds: 30
};
const STORM = { ...DEMAND, edges: 200, lost: 50, balancerMs: 10_000, jitter: true, resumes: true };

/** The first number of a row of docs/performance.md. */
function figureOf(row: RegExp): number {
  return Number(row.exec(PERFORMANCE)?.[1]?.replaceAll(',', ''));
}

test('the constants are the figures of the benches', () => {
  assert.equal(MEASURED.sendUs, figureOf(/CPU for a message of 20 KB to 1000 subscribers, each \| ([\d.]+) µs/));
  assert.equal(MEASURED.connectUs, figureOf(/CPU of an edge for a subscriber that comes back \| (\d+) µs/));
  assert.equal(MEASURED.subscriberBytes / 2 ** 10, figureOf(/memory for an idle subscriber at an edge \| (\d+) KiB/));
  assert.equal(MEASURED.edgeBytes / 2 ** 20, figureOf(/memory of an edge without subscribers \| (\d+) MiB/));
  assert.equal(MEASURED.answerMs, figureOf(/`\/status`: p50 \|[^|]*\| before, ([\d.]+) ms/));
});

test('the plan of a bench has the figures of that bench', () => {
  const { cores, subscribersPerEdge } = planCapacity({ ...DEMAND, subscribers: 1_000, edges: 1, blockSeconds: 1 });
  assert.equal(subscribersPerEdge, 1_000);
  assert.ok(Math.abs(cores - (MEASURED.sendUs * 1_000) / 1e6) < 1e-9, `${cores} cores for 14.1 ms each second`);
});

test('a million subscribers at 200 edges: traffic by hand, and the network of an edge as the first bottleneck', () => {
  const plan = planCapacity(DEMAND);
  assert.equal(plan.subscribersPerEdge, 5_000);
  assert.equal(plan.egressBytes, (1e6 * 20_000) / 60);
  assert.equal(Math.round(plan.natsBytes), (200 * 20_700) / 60);
  assert.equal(plan.blockSeconds, (5_000 * 20_000 * 8) / 1e9);
  assert.match(plan.uses[0]!.what, /one second for a block/);
});

test('without a number of edges the fewest that will do are found; more subscribers never need fewer', () => {
  const edgesFor = (subscribers: number) => planCapacity({ ...DEMAND, subscribers, edges: undefined }).edges;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3_000_000 }), (subscribers) => {
      const edges = edgesFor(subscribers);
      const used = (count: number) => planCapacity({ ...DEMAND, subscribers, edges: count }).uses[0]!.used;
      assert.ok(used(edges) <= 1 && (edges === 1 || used(edges - 1) > 1), `${edges} edges`);
      assert.ok(edgesFor(subscribers + 10_000) >= edges);
    }),
    { numRuns: 50 }
  );
});

test('a storm of a quarter of a million ends: every subscriber is live again, and each attempt is accounted for', () => {
  const course = playStorm(STORM, createRandom('storm').next);
  assert.equal(course.lostSubscribers, 250_000);
  assert.ok(course.allMs !== null && course.allMs < 60_000, `all after ${course.allMs} ms`);
  assert.ok(course.mostMs! <= course.allMs && course.halfMs! <= course.mostMs!);
  assert.ok(course.attempts >= 250_000 + course.refused + course.givenUp);
  const steep = playStorm({ ...STORM, jitter: false }, createRandom('storm').next);
  assert.ok(steep.peakPerSecond > 1.5 * course.peakPerSecond, 'jitter spreads attempts');
  const small = { ...STORM, subscribers: 100_000, edges: 20, lost: 5 };
  const [resuming, asking] = [true, false].map((resumes) =>
    playStorm({ ...small, resumes }, createRandom('storm').next)
  );
  assert.ok(asking!.allMs! > 3 * resuming!.allMs!, 'without after= the origin is asked by all');
});

test('edges without room refuse, and a storm that cannot end is told', () => {
  const full = { ...STORM, subscribers: 24_000, edges: 4, lost: 2 };
  const course = playStorm(full, createRandom('storm').next);
  assert.ok(course.refused > 0);
  assert.equal(course.allMs, null);
  assert.notEqual(course.halfMs, null);
});

test('the command prints plan and storm, and refuses what is no number', async () => {
  const { code, stdout } = await runCommandLine(['capacity', '--subscribers', '1000000', '--edges', '200']);
  assert.equal(code, 0);
  assert.match(stdout, /first bottleneck/);
  assert.match(stdout, /50 of 200 edges are lost, and with them 250000 connections/);
  assert.equal((await runCommandLine(['capacity', '--edges', 'many'])).code, 64);
});
