import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNetwork } from '../../../src/coin/find-network.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { DecoderSource } from '../../../src/indexer/loop/decoder-source.ts';
import { atEnd } from '../../support/cleanup.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

test('an indexer reads the outputs of an action, and those of a payment alone, which has no text', async () => {
  const database = await createDatabase('decoder');
  const network = findNetwork('litecoin-regtest')!;
  const store = await openDecoderStore(database);
  const transaction = { source: 'buyer', rawData: null, pubkey: null, dispensers: { opened: null, extendedTo: null } };
  const outputs = [{ vout: 1, address: 'seller', amount: 25n }];
  await store.writeBlocks([
    {
      height: 0,
      time: 1_700_000_000,
      hash: network.genesisHash,
      previousHash: '',
      findings: [],
      transactions: [
        { ...transaction, hash: 'a'.repeat(64), data: 'COINPAY|0|7', outputs },
        { ...transaction, hash: 'b'.repeat(64), data: '', outputs }
      ]
    }
  ]);
  await store.database.close();
  const source = await DecoderSource.open(database, network, 10);
  atEnd(async () => source.close());
  const [block] = (await source.readBlocks(0, 10))!.blocks;
  const paid = [{ vout: 1, address: 'seller', amount: 25n * 10n ** 10n }];
  assert.deepEqual(
    block!.transactions.map(({ data, outputs }) => ({ data, outputs })),
    [
      { data: 'COINPAY|0|7', outputs: paid },
      { data: '', outputs: paid }
    ]
  );

  await sql(
    database,
    "UPDATE transaction_outputs SET amount = '0.00000025' WHERE tx_index = 0",
    'ALTER TABLE transactions MODIFY data MEDIUMTEXT NULL',
    'UPDATE transactions SET data = NULL WHERE tx_index = 1'
  );
  const [same] = (await source.readBlocks(0, 10))!.blocks;
  assert.deepEqual(
    same!.transactions.map(({ data, outputs }) => ({ data, outputs })),
    [
      { data: 'COINPAY|0|7', outputs: paid },
      { data: '', outputs: paid }
    ],
    'as decoders in use write it: coins with 8 places, and NULL for no text'
  );
  for (const odd of ['0.25', '1e3', '-1', '', '25 ']) {
    await sql(database, `UPDATE transaction_outputs SET amount = '${odd}' WHERE tx_index = 1`);
    const reader = await DecoderSource.open(database, network, 10);
    await assert.rejects(reader.readBlocks(0, 10), (caught: PlatformError) => {
      return caught.code === 'DATABASE_UNUSABLE' && /amount of tx_index 1, vout 1 is/.test(caught.message);
    });
  }
});
