import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hubPipeline } from '../../../src/hub/pipeline.ts';

test('a hub shows whether its database answers', () => {
  const of = (answers: boolean) => hubPipeline('Platform_Hub', answers).nodes.map(({ state }) => state);
  assert.deepEqual(of(true), ['well', 'well']);
  assert.deepEqual(of(false), ['failed', 'waiting']);
});
