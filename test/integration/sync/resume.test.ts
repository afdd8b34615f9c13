import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLink } from '../../support/link.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { appendBlocks, createDecoder, reorg } from '../../support/sync/generated-decoder.ts';
import { differences, startPair } from '../../support/sync/sync-pair.ts';
import { eventually } from '../../support/sync/sync-process.ts';

test('a client whose stream was cut gets what it missed by the stream, and asks for nothing', async () => {
  const source = await createDatabase('resume');
  await createDecoder(source, { seed: 'resume', blocks: 5, rows: 100 });
  const pair = await startPair('decoder', source);
  const link = await openLink(pair.server.url);
  const client = await pair.startClient({ SYNC_SOURCES: link.url });
  const isLive = async (height: number) => {
    const verdict = await pair.settle(client, height);
    assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  };
  const verified = () =>
    eventually('it is verified', async () => (await pair.status(client))['verification'] === 'verified');
  await isLive(await appendBlocks(source, 2, 'first'));
  await verified();

  link.block();
  const height = await appendBlocks(source, 3, 'missed');
  await eventually('the server has sent them', async () => (await pair.status(pair.server))['block_height'] === height);
  const before = client.log().length;
  link.open();
  await isLive(height);
  const output = client.log().slice(before);
  assert.match(output, /the stream goes on where it was cut/);
  assert.doesNotMatch(output, /since-snapshot|compared/);
  assert.equal((await pair.status(client))['verification'], 'verified', 'the last comparison stands');

  link.block();
  const branch = await reorg(source, 2, 4, 'branch');
  await eventually('the server has sent it', async () => (await pair.status(pair.server))['block_height'] === branch);
  link.open();
  await isLive(branch);
});
