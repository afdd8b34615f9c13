import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DbType } from '../../src/wire/data/database.ts';
import { follow, LATE } from '../support/sync/compatible-pair.ts';
import { eventually } from '../support/sync/sync-process.ts';

/** Test of a client that follows a compatible server through all that it and its chain may do. */
export function followedTest(dbType: DbType, reorgMessages: boolean): void {
  const how = reorgMessages ? 'reorgs announced' : 'reorgs not announced';
  test(`${dbType}, ${how}: a compatible server is followed, and what it sends ends equal`, async (t) => {
    const { owner, writeLate, peer, startClient, settle, restartServer, downloads } = await follow(dbType, {
      reorgMessages
    });
    const gate = Promise.withResolvers<void>();
    peer.server.gate = gate.promise;
    let client = await startClient();
    await t.test('a bootstrap while the tip moves needs one download', async () => {
      await eventually('the snapshot is asked for', async () => downloads() > 0);
      await owner.ledger.writeBlocks(3);
      gate.resolve();
      await settle(client);
      assert.equal(downloads(), 1);
    });
    await t.test('live, with changes of older rows', async () => {
      await writeLate(dbType === 'indexer' ? LATE.indexer.length : 8);
      await settle(client);
    });
    await t.test('a backlog between two polls', async () => {
      await owner.ledger.writeBlocks(10, {}, true);
      await settle(client);
    });
    await t.test('a reorg to a longer branch', async () => {
      await owner.ledger.reorg(5, { count: 7 });
      await settle(client);
    });
    await t.test('a reorg to the same height, at once', async () => {
      await owner.ledger.reorg(2, { count: 2, together: true });
      await settle(client);
    });
    await t.test('a reorg to a lower height', async () => {
      await owner.ledger.reorg(5, { count: 2, together: true });
      await settle(client);
      await owner.ledger.writeBlocks(4);
      await settle(client);
    });
    if (reorgMessages) {
      await t.test('a cut, and blocks meanwhile', async () => {
        peer.server.cut();
        await owner.ledger.writeBlocks(6);
        await settle(client);
      });
      await t.test('the server goes and comes back, further on', async () => {
        await peer.server.end();
        await writeLate(3);
        await restartServer();
        await settle(client);
      });
      const absences = [
        ['blocks', () => writeLate(20)],
        ['a reorg to a longer branch', () => owner.ledger.reorg(4, { count: 9 })],
        ['a reorg to the same height', () => owner.ledger.reorg(3, { count: 3 })],
        ['a reorg to a lower height', () => owner.ledger.reorg(6, { count: 2 })]
      ] as const;
      // The forks are found in the same way; an indexer's many tables take their time.
      for (const [what, away] of dbType === 'decoder' ? absences : absences.slice(0, 2)) {
        await t.test(`away during ${what}`, async () => {
          await client.end();
          await away();
          client = await startClient();
          await settle(client);
        });
      }
    }
    assert.equal(
      downloads(),
      1,
      client
        .log()
        .split('\n')
        .filter((line) => /anew|contradict/.test(line))
        .join('\n')
    );
    await client.end();
    await peer.server.end();
  });
}
