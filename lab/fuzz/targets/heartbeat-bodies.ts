import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type FrontDoor, INDEXER, openFrontDoor } from '../../../test/support/sync/front-door.ts';
import { checkForm } from '../support/answer-form.ts';
import { hostileText, jsonLike, mutatedText } from '../support/hostile.ts';
import { target } from '../support/target.ts';

interface Post {
  readonly type: string;
  readonly body: string;
  readonly from: number;
}

const SPECIMEN = { validator_id: 'validator one', applied_height: 5, applied_block_time: 1_700_000_000 };
const specimens = hostileText.map((name) => ({ ...SPECIMEN, validator_id: name }));
const types = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('application/json', 'application/json; charset=utf-8') },
  fc.constantFrom(
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json;',
    'application/json; charset=utf-16',
    'a/b/c'
  )
);

let frontDoor: Promise<FrontDoor> | undefined;
const address = (from: number) => `10.${(from >> 16) & 255}.${(from >> 8) & 255}.${from & 255}`;

export const heartbeatBodies = target<Post>({
  name: 'heartbeat-bodies',
  promise: 'a heartbeat is listed under its very name, or refused as documented',
  runs: 3_000,
  shortRuns: 450,
  inputs: fc.record({
    type: types,
    body: fc.oneof(
      { weight: 5, arbitrary: jsonLike(specimens) },
      mutatedText(specimens.map((each) => JSON.stringify(each)))
    ),
    from: fc.nat(2 ** 24 - 1)
  }),
  check: async ({ type, body, from }) => {
    frontDoor ??= openFrontDoor();
    const { app, fanOut } = await frontDoor;
    const known = new Set(fanOut.validators.list(INDEXER).map(([name]) => name));
    const answer = await app.inject({
      method: 'POST',
      url: '/validator-heartbeat/indexer/bitcoin/regtest',
      headers: type === '' ? {} : { 'content-type': type },
      remoteAddress: address(from),
      payload: body
    });
    checkForm(answer);
    const listed = fanOut.validators.list(INDEXER);
    if (answer.statusCode !== 200) return assert.equal(listed.length, known.size);
    assert.equal(answer.body, '{"ok":true}');
    // A byte order mark is let pass, and counts as nothing.
    const { validator_id, applied_height } = JSON.parse(body.replace(/^\ufeff/, '')) as typeof SPECIMEN;
    const [, entry] = listed.find(([name]) => name === validator_id) ?? [];
    assert.ok(entry && Object.is(entry.appliedHeight + 0, applied_height + 0), 'listed as it said');
    // The list is long by now, so it is not always looked at.
    if (known.size > 50 && from % 64 !== 0) return;
    const status = await app.inject('/validator-status/indexer/bitcoin/regtest');
    assert.equal(status.statusCode, 200, status.body.slice(0, 300));
    const { validators } = JSON.parse(status.body) as { validators: Record<string, unknown> };
    for (const [name] of listed) assert.ok(Object.hasOwn(validators, name), JSON.stringify(name));
  },
  close: async () => {
    await (await frontDoor)?.app.close();
    frontDoor = undefined;
  }
});
