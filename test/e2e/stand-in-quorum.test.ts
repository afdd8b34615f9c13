import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atEnd } from '../support/cleanup.ts';
import { sql } from '../support/sql.ts';
import { StandInServer } from '../support/stand-in/server.ts';
import { follow } from '../support/sync/compatible-pair.ts';
import { startLyingSource } from '../support/sync/lying-source.ts';
import { eventually } from '../support/sync/sync-process.ts';

const CONFIRM_MS = 1_500;
const OPTIONS = { reorgMessages: true } as const;
const LIE = 'f'.repeat(64);

/** A decoder that is followed from one compatible server and compared with another one, over the same database, and further ones. */
async function followTwo(further: readonly string[] = []) {
  const pair = await follow('decoder', OPTIONS);
  const second = await StandInServer.start('decoder', pair.source, OPTIONS);
  atEnd(() => second.end());
  const lies = { tells: false };
  const lie = (message: Record<string, unknown>) =>
    lies.tells && message['block_hash'] ? { ...message, block_hash: LIE } : message;
  const link = await startLyingSource(
    second.url,
    (_, body) => lie(body),
    () => false,
    (message) => [lie(message)]
  );
  const env = {
    SYNC_SOURCES: [pair.peer.server.url, link.url, ...further].join(),
    VERIFY_HASHES: 'true',
    HASH_CONFIRM_TIMEOUT: CONFIRM_MS
  };
  return { ...pair, second, lies, startClient: () => pair.startClient([], env) };
}

for (const [what, isCut] of [
  ['heard the block', false],
  ['was not there when the block came', true]
] as const) {
  test(`two compatible decoders that go on during a bootstrap, the second one ${what}: the replica becomes live, and follows what both name`, async (t) => {
    const { owner, replica, peer, second, lies, startClient, settle, downloads } = await followTwo();
    const gate = Promise.withResolvers<void>();
    peer.server.gate = gate.promise;
    let client = await startClient();
    await t.test('bootstrap', async () => {
      await eventually('the snapshot is asked for', async () => downloads() > 0);
      const { height } = owner.ledger;
      await owner.ledger.writeBlocks(3);
      if (isCut) second.cut();
      gate.resolve();
      await settle(client);
      assert.equal(downloads(), 1);
      assert.match(client.log(), new RegExp(`sources beyond block ${height} cannot name it`));
    });
    await t.test('live blocks', async () => {
      for (let block = 0; block < 4; block++) await owner.ledger.writeBlock();
      await settle(client);
    });
    await t.test('a block that the second server was not there for', async () => {
      second.cut();
      await owner.ledger.writeBlocks(3);
      await owner.ledger.writeBlock();
      await settle(client);
    });
    await t.test('a reorg to a longer branch', async () => {
      await owner.ledger.reorg(3, { count: 6 });
      await settle(client);
    });
    for (const [where, away] of [
      ['blocks', () => owner.ledger.writeBlocks(5)],
      ['a reorg', () => owner.ledger.reorg(3, { count: 6 })]
    ] as const) {
      await t.test(`away during ${where}`, async () => {
        await client.end();
        await away();
        client = await startClient();
        await settle(client);
      });
    }
    await t.test('a live block that the second server contradicts is not applied', async () => {
      const { height } = owner.ledger;
      lies.tells = true;
      await owner.ledger.writeBlock();
      await eventually('it halts', async () => /hash-mismatch/.test(client.log()));
      const [tip] = await sql(replica, 'SELECT MAX(block_index) AS h FROM blocks');
      assert.equal(Number(tip!['h']), height);
    });
    assert.equal(downloads(), 1);
    await client.end();
    await second.end();
    await peer.server.end();
  });
}

test('two of three compatible decoders are enough when one is gone during a bootstrap', async () => {
  const { owner, peer, second, startClient, settle } = await followTwo(['http://127.0.0.1:9']);
  const gate = Promise.withResolvers<void>();
  peer.server.gate = gate.promise;
  const client = await startClient();
  await eventually('the snapshot is asked for', async () =>
    peer.server.requests.some((path) => path.startsWith('/snapshot/'))
  );
  await owner.ledger.writeBlocks(3);
  second.cut();
  gate.resolve();
  await settle(client);
  await owner.ledger.writeBlock();
  await settle(client);
  await client.end();
  await second.end();
  await peer.server.end();
});
