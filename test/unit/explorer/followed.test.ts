import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Subject } from '../../../src/explorer/live/advance.ts';
import { Followed } from '../../../src/explorer/live/followed.ts';

const token = (query: string): Subject => ({ type: 'token', query });

test('a network of which each address follows one subject gives way to an address that follows none', () => {
  const followed = new Followed(4);
  for (let n = 0; n < 4; n++) followed.add(`2001:db8:7:${n}::/64`, token(`T${n}`));
  const way = followed.whoGivesWay('198.51.100.1', [token('OWN')]);
  assert.match((way as { address: string }).address, /^2001:db8:7:/);
  assert.equal(
    followed.whoGivesWay('2001:db8:7:99::/64', [token('OWN')]),
    null,
    'one of the same network gets no more'
  );
  assert.equal(followed.whoGivesWay('198.51.100.1', [token('T1')]), 'room', 'it is followed already');
});

test('the address that follows the most gives way to one that follows fewer', () => {
  const followed = new Followed(4);
  for (let n = 0; n < 3; n++) followed.add('192.0.2.1', token(`A${n}`));
  followed.add('192.0.2.2', token('B'));
  assert.deepEqual(followed.whoGivesWay('192.0.2.2', [token('B2')]), { address: '192.0.2.1' });
  assert.equal(followed.whoGivesWay('192.0.2.2', [token('B2'), token('B3')]), null);
});
