import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INDEXER, openFrontDoor, reportOf } from '../../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';
const READING = [
  `/schema/indexer/${AT}`,
  `/digest/indexer/${AT}`,
  `/snapshot-rows/decoder/${AT}/pubkeys`,
  `/snapshot-dispensers/decoder/${AT}`,
  `/checkpoint/indexer/${AT}/latest`,
  `/checkpoint/indexer/${AT}/7`,
  `/transparency/indexer/${AT}/roots`,
  `/transparency/indexer/${AT}/proof/7`,
  `/transparency/indexer/${AT}/root/latest`
];

test('200 HEAD without a body of what is read from a database: nothing is read', async () => {
  const { app } = await openFrontDoor(); // whoever asks an actor here fails
  for (const url of READING) {
    const answer = await app.inject({ method: 'HEAD', url });
    assert.deepEqual([answer.statusCode, answer.body, answer.headers['content-length']], [200, '', undefined], url);
    assert.match(String(answer.headers['content-type']), /^application\/json/);
    assert.equal((await app.inject(url)).statusCode, 500, `GET ${url} is what asks`);
  }
});

test('HEAD is refused as GET is: 400, 401, 403, 404, 503', async () => {
  const open = await openFrontDoor({ reports: [reportOf(INDEXER, { circuit: 'open' })] });
  const client = await openFrontDoor({ config: { SYNC_MODE: 'client' } });
  const keyed = await openFrontDoor({ config: { SYNC_API_KEY: 'secret' } });
  for (const [{ app }, url, status] of [
    [open, `/schema/x/${AT}`, 400],
    [open, `/transparency/indexer/${AT}/proof/none`, 400],
    [keyed, `/schema/indexer/${AT}`, 401],
    [client, `/schema/indexer/${AT}`, 403],
    [open, '/schema/indexer/no/where', 404],
    [open, `/schema/indexer/${AT}`, 503]
  ] as const) {
    assert.equal((await app.inject({ method: 'HEAD', url })).statusCode, status, url);
    assert.equal((await app.inject(url)).statusCode, status, url);
  }
});
