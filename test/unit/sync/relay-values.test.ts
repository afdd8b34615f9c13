import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentLogger } from '../../../src/log.ts';
import type { NatsLink } from '../../../src/sync/relay/link.ts';
import { RelayValues } from '../../../src/sync/relay/values.ts';
import type { DatabaseId } from '../../../src/wire/data/database.ts';

test('a value that NATS refuses keeps no other from being written; a status is written without its subscribers', async () => {
  const kept = new Map<string, string>();
  const put = async (key: string, body: string) => {
    if (body.length > 100) throw new Error('maximum payload exceeded');
    kept.set(key, body);
  };
  const current = { values: { create: async () => ({ put }) } };
  const ids = ['litecoin', 'dogecoin'].map((chain): DatabaseId => ({ dbType: 'decoder', chain, network: 'regtest' }));
  const subscribers = Array.from({ length: 1_000 }, (_, id) => ({ id }));
  const read = async (path: string) => {
    if (path.startsWith('/status/')) return JSON.stringify({ block_height: 7, subscribers });
    return path.includes('litecoin') ? 'x'.repeat(200) : '{"databases":[]}';
  };
  const link = { current } as unknown as NatsLink;
  const values = new RelayValues({ link, replicas: 1, ids: () => ids, read, log: silentLogger });
  for (let left = 200; left > 0 && !kept.has('decoder.dogecoin.regtest.schema'); left--) await sleep(5);
  await values.close();
  assert.equal(kept.get('decoder.litecoin.regtest.status'), '{"block_height":7}');
  assert.equal(kept.get('decoder.dogecoin.regtest.status'), '{"block_height":7}');
  assert.equal(kept.has('decoder.litecoin.regtest.validators'), false);
  assert.equal(kept.has('decoder.dogecoin.regtest.validators'), true);
});
