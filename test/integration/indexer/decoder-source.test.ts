import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findNetwork } from '../../../src/coin/find-network.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { hasCode, type PlatformError } from '../../../src/errors.ts';
import { DecoderSource } from '../../../src/indexer/loop/decoder-source.ts';
import { atEnd } from '../../support/cleanup.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

test('an indexer reads the outputs of an action, and those of a payment alone, which has no text', async () => {
  const database = await createDatabase('decoder');
  const network = findNetwork('litecoin-regtest')!;
  const store = await openDecoderStore(database);
  const transaction = { source: 'buyer', rawData: null, pubkey: null, dispensers: { opened: [], extendedTo: null } };
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

test('a group of blocks ends where its texts become too long, whatever number of transactions it has', async () => {
  const database = await createDatabase('decoder');
  const network = findNetwork('litecoin-regtest')!;
  const store = await openDecoderStore(database);
  const data = `BROADCAST|0|${'x'.repeat(2 ** 23)}`;
  const rest = { source: 'A', rawData: null, pubkey: null, outputs: [], dispensers: { opened: [], extendedTo: null } };
  const hashOf = (height: number) => (height === 0 ? network.genesisHash : String(height).padStart(64, 'b'));
  for (let height = 0; height < 8; height++)
    await store.writeBlocks([
      {
        height,
        time: 1_700_000_000 + height,
        hash: hashOf(height),
        previousHash: height === 0 ? '' : hashOf(height - 1),
        findings: [],
        transactions: [{ ...rest, hash: String(height).padStart(64, 'a'), data: height === 4 ? 'BROADCAST|0|x' : data }]
      }
    ]);
  await store.database.close();
  const source = await DecoderSource.open(database, network, 10);
  atEnd(async () => source.close());
  const heights = async (from: number) => (await source.readBlocks(from, 200))!.blocks.map(({ height }) => height);
  assert.deepEqual(
    [await heights(0), await heights(3)],
    [
      [0, 1, 2],
      [3, 4, 5, 6]
    ]
  );
});

test('DATABASE_UNUSABLE: a decoder database without block 0 whose addresses are of another chain', async () => {
  const database = await createDatabase('decoder');
  const [bitcoin, litecoin] = [findNetwork('bitcoin-mainnet')!, findNetwork('litecoin-mainnet')!];
  await (await openDecoderStore(database)).database.close();
  const refusal = async (network: typeof bitcoin) => {
    try {
      (await DecoderSource.open(database, network, 10)).close();
      return null;
    } catch (caught) {
      assert.ok(hasCode(caught, 'DATABASE_UNUSABLE'));
      return caught.message;
    }
  };
  assert.deepEqual(
    [await refusal(bitcoin), await refusal(litecoin)],
    [null, null],
    'without an address nothing is known'
  );
  const address = '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2';
  await sql(database, `INSERT INTO index_addresses (address) VALUES ('${address}')`);
  assert.equal(await refusal(bitcoin), null);
  assert.match((await refusal(litecoin))!, new RegExp(`the address ${address} of .* does not belong to litecoin`));
});

test('DATABASE_UNUSABLE: a block or source that a decoder always writes is missing; no block is carried out without it', async () => {
  const database = await createDatabase('decoder');
  const network = findNetwork('litecoin-regtest')!;
  const store = await openDecoderStore(database);
  const hashOf = (height: number) => (height === 0 ? network.genesisHash : String(height).padStart(64, 'a'));
  const blockAt = (height: number) => ({
    height,
    time: 1_700_000_000,
    hash: hashOf(height),
    previousHash: height === 0 ? '' : hashOf(height - 1),
    findings: [],
    transactions: [
      {
        hash: String(height).padStart(64, 'b'),
        source: 'buyer',
        data: '',
        rawData: null,
        pubkey: null,
        outputs: [{ vout: 1, address: 'seller', amount: 25n }],
        dispensers: { opened: [], extendedTo: null }
      }
    ]
  });
  await store.writeBlocks([0, 1, 2, 3].map(blockAt));
  await store.database.close();
  const reasonOf = async (from: number) => {
    const source = await DecoderSource.open(database, network, 10);
    try {
      await source.readBlocks(from, 10);
      return null;
    } catch (caught) {
      assert.ok(hasCode(caught, 'DATABASE_UNUSABLE'));
      return caught.message;
    } finally {
      source.close();
    }
  };
  assert.equal(await reasonOf(0), null);
  await sql(
    database,
    'ALTER TABLE transactions MODIFY data MEDIUMTEXT NULL, MODIFY source_id BIGINT NULL',
    'UPDATE transactions SET data = NULL WHERE block_index = 1'
  );
  assert.equal(await reasonOf(0), null, 'a payment alone has no text');
  await sql(database, 'UPDATE transactions SET source_id = NULL WHERE block_index = 1');
  assert.match((await reasonOf(0))!, /no source of transaction/);
  await sql(database, 'DELETE FROM blocks WHERE block_index = 2');
  assert.match((await reasonOf(2))!, /blocks has no block 2, and block 3 above it/);
});
