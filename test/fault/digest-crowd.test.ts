import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DigestKey } from '../../src/wire/data/digest.ts';
import { createDatabase } from '../support/mariadb.ts';
import { RawClient } from '../support/raw-client.ts';
import { sql } from '../support/sql.ts';
import { createIndexer } from '../support/sync/generated-indexer.ts';
import { startPair } from '../support/sync/sync-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

const AT = 'indexer/litecoin/regtest';
const KEY = 'key-of-the-pair';
const ROWS = 100_000;

test('256 callers who ask for digests and leave do not keep a replica from being compared', async () => {
  const source = await createDatabase('crowd');
  await createIndexer(source, { seed: 'crowd', blocks: 5, rows: 300 });
  await sql(
    source,
    'CREATE TABLE wide (id INT PRIMARY KEY, text VARCHAR(200) NOT NULL)',
    `INSERT INTO wide SELECT seq, REPEAT(MD5(seq), 6) FROM seq_1_to_${ROWS}`
  );
  const pair = await startPair('indexer', source);
  const client = await pair.startClient();
  const isVerified = async () => {
    const { verification, verified_height, block_height } = await pair.status(client);
    return verification === 'verified' && verified_height === block_height;
  };
  await eventually('the replica is compared', isVerified);
  const { host } = new URL(pair.server.url);
  const headers = { authorization: `Bearer ${KEY}` };
  const { key } = (await (await fetch(`${pair.server.url}/digest/${AT}/key`, { headers })).json()) as DigestKey;
  const ask = (asking: RawClient, range: string) =>
    asking.say(
      `GET /digest/${AT}?table=wide&key=${key}&${range} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`
    );
  const crowd = await Promise.all(
    Array.from({ length: 256 }, async (_, n) =>
      // Each asks for something else, so that no answer serves two.
      ask(await RawClient.open(host), n % 2 ? `from=${n}&to=4294967295` : 'settled=1')
    )
  );
  const last = crowd.pop()!;
  for (const { socket } of crowd) socket.destroy();
  await eventually('the one that stayed is answered', async () => {
    const status = await last.status();
    assert.ok(status === 200 || status === 503, `${status}`);
    // As long as the crowd's questions wait, one more of the same address may be refused: it asks again.
    if (status === 503) ask(last, 'from=255&to=4294967295');
    return status === 200;
  });
  last.socket.destroy();
  const began = performance.now();
  const before = (await pair.status(client))['verified_at'];
  assert.equal(await client.post(`/debug/actors/${AT}/verify`), 202);
  await eventually('the replica is compared again', async () => (await pair.status(client))['verified_at'] !== before);
  assert.ok(performance.now() - began < 15_000);
  await client.end();
  await pair.server.end();
});
