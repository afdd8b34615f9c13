import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { type Program, payTo } from '../../../src/coin/script/pay-scripts.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { answerQuestion } from '../../../src/explorer/read/answer.ts';
import { Cursors } from '../../../src/explorer/read/cursor.ts';
import { openDatabases } from '../../../src/explorer/read/databases.ts';
import { Reader } from '../../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK } from '../../../src/explorer/read/tip.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { atEnd } from '../../support/cleanup.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const LITECOIN = chainNetwork('litecoin', 'regtest');
const spellings = (kind: Program['kind']) => {
  const { addresses } = LITECOIN;
  const script = payTo({ kind, bytes: Buffer.alloc(20, 7) });
  return addresses.p2shAccepted.map((p2sh) => addressOf(script, { ...addresses, p2sh })!);
};

test('lists and records find an address in capitals, and in both spellings of Litecoin, also that of older rows', async () => {
  const [script = '', old = ''] = spellings('scriptHash');
  const [segwit = ''] = spellings('witnessKeyHash');
  const lost = addressOf(payTo({ kind: 'scriptHash', bytes: Buffer.alloc(20, 8) }), {
    ...LITECOIN.addresses,
    p2sh: LITECOIN.addresses.p2shAccepted[1]!
  })!;
  const [indexer, decoder] = [await createDatabase('spelled'), await createDatabase('spelled_decoder')];
  await (await openDecoderStore(decoder)).database.close();
  const store = await IndexerStore.open(indexer, TEST_RULES, 30);
  const transactions = [script, segwit, lost].map((source, place) => {
    return { hash: `${place}`.padStart(64, 'd'), source, fee: 0, data: 'BROADCAST|0|text' };
  });
  await store.addBlocks([{ height: 0, time: 1_700_000_000, hash: 'a'.repeat(64), transactions }]);
  const readers = [
    [indexer, NEWEST_BLOCK] as const,
    [indexer, NEWEST_BLOCK] as const,
    [decoder, DECODER_TIP] as const
  ].map(([database, opening]) => {
    return new Reader({
      database,
      connections: 1,
      limitMs: 20_000,
      breaker: { refuses: false, tell: () => undefined },
      opening
    });
  });
  atEnd(async () => {
    store.close();
    await Promise.all(readers.map((each) => each.close()));
  });
  const [own, aside, third] = readers as [Reader, Reader, Reader];
  const databases = openDatabases(LITECOIN, { indexer: own, aside, decoder: third }, new Cursors(new Uint8Array(32)));
  await sql(
    decoder,
    `INSERT INTO index_addresses (id, address) VALUES (7, '${segwit}')`,
    "INSERT INTO pubkeys (address_id, pubkey) VALUES (7, '02ab')"
  );
  const ask = async (method: string, query: string) => {
    const asked = { parameters: {}, page: 1, limit: 10, order: 'desc', format: 'json', method, query } as const;
    const { body } = await answerQuestion(
      databases,
      method === 'address' || method === 'pubkey' ? asked : { ...asked, type: 'address' }
    );
    return body;
  };
  for (const [query, source] of [
    [script, script],
    [old, script],
    [segwit.toUpperCase(), segwit],
    [lost, lost]
  ] as const) {
    const { data } = JSON.parse(await ask('history', query)) as { data: { source: string }[] };
    assert.deepEqual(
      data.map((row) => row.source),
      [source],
      query
    );
    assert.match(await ask('address', query), new RegExp(source));
  }
  for (const query of [segwit, segwit.toUpperCase()]) {
    const { runtime: _, ...found } = JSON.parse(await ask('pubkey', query)) as Record<string, unknown>;
    assert.deepEqual(found, { address: segwit, pubkey: '02ab' });
  }
});
