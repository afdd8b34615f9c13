import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ValuesReader } from '../../../src/edge/values.ts';
import { silentLogger } from '../../../src/log.ts';
import type { NatsLink } from '../../../src/sync/relay/link.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';
import { atEnd } from '../../support/cleanup.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const ID: DatabaseId = { dbType: 'decoder', chain: 'litecoin', network: 'regtest' };

test('subscribers are told when an edge hears nothing of the origin because NATS is away, and when it hears it again', async () => {
  let revision = 0;
  const get = async (key: string) => {
    if (!key.endsWith('.status')) return null;
    return { revision: ++revision, json: () => ({ block_height: 1, block_hash: 'b1' }) };
  };
  const connection = { values: { open: async () => ({ get }) } };
  const link: { current: object | null } = { current: connection };
  const changes: boolean[] = [];
  const values = new ValuesReader({
    link: link as unknown as NatsLink,
    ids: () => [ID],
    log: silentLogger,
    silentMs: 3_000,
    onSilence: (id) => changes.push(values.silentS(id) > 0)
  });
  atEnd(() => values.close());
  await eventually('it is heard', async () => values.of(ID) !== undefined);
  link.current = null;
  await eventually('it is silent', 10_000, async () => changes.join() === 'true');
  link.current = connection;
  await eventually('it is heard again', 10_000, async () => changes.join() === 'true,false');
  assert.equal(values.silentS(ID), 0);
});

test('an origin of which there never was a word is silent too', async () => {
  const connection = { values: { open: async () => ({ get: async () => null }) } };
  const link = { current: connection } as unknown as NatsLink;
  const values = new ValuesReader({ link, ids: () => [ID], log: silentLogger, silentMs: 100 });
  atEnd(() => values.close());
  await eventually('it is silent', async () => values.silentS(ID) > 0);
});
