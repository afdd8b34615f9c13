import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { PRICE_SETTLEMENT_S } from '../../../src/coin/foreign-prices.ts';
import { DEFAULT_PROFILE, readProfile } from '../../../src/coin/profile.ts';
import type { BlockRows } from '../../../src/decoder/block-rows.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { hasCode } from '../../../src/errors.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { DecoderSource } from '../../../src/indexer/loop/decoder-source.ts';
import { PriceSource } from '../../../src/indexer/loop/price-source.ts';
import { IndexerWork } from '../../../src/indexer/loop/work.ts';
import { ledgerBaseOf } from '../../../src/indexer/profile/base.ts';
import { IndexerStore } from '../../../src/indexer/store/store.ts';
import { silentLogger } from '../../../src/log.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { dumpIndexer } from '../../support/indexer-database.ts';
import { TEST_RULES } from '../../support/indexer-ledger.ts';
import { priceText, testSigner } from '../../support/indexer-signers.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { sql } from '../../support/sql.ts';

const [BITCOIN, LITECOIN] = [chainNetwork('bitcoin', 'regtest'), chainNetwork('litecoin', 'regtest')];
const BASE = ledgerBaseOf(DEFAULT_PROFILE, BITCOIN, 'PLATFORM');
const { gas } = readProfile({ name: 'fees', gas: { issue: 100_000 } });
const LITECOIN_RULES = {
  ...TEST_RULES,
  coin: 'LTC',
  fees: { gas, price: '0.00001', destination: 'Z', donation: undefined }
};
const T0 = 1_700_000_000;
const STEP_S = 600;
/** The fifth block below the tenth has this time: what the tenth wrote is settled for the first block of Litecoin. */
const L0 = T0 + 5 * STEP_S + PRICE_SETTLEMENT_S;
const signer = testSigner('a');
const hashOf = (height: number, branch: string) => `${branch}${height}`.padStart(64, '0');

/** In blocks 10, 20 and 25 a round of prices: a coin of Litecoin is worth 50, 25 and 100 of the gas token. */
function bitcoinBlock(height: number, branch = 'b'): ChainBlock {
  const time = T0 + STEP_S * height;
  const round = (number: number, coin: string) => {
    const pairs = [
      ['GAS/USD', '2'],
      ['LTC/USD', coin]
    ] as const;
    return priceText({ round: number, height, timestamp: time, pairs }, [signer]);
  };
  const texts: Readonly<Record<number, string>> = {
    0: 'ISSUE|0|GAS|0|0|8||5000',
    1: `STAKE|1|3000|${signer.pubkey}`,
    10: round(1, '100'),
    20: round(2, '50'),
    25: round(3, '200')
  };
  const data = texts[height];
  const transactions = data === undefined ? [] : [{ hash: hashOf(height, 'e'), source: 'A', fee: null, data }];
  return { height, time, hash: hashOf(height, branch), transactions };
}

/** Each issues a token and pays 0.02 coins. */
function litecoinBlocks(from: number, to: number): BlockRows[] {
  return Array.from({ length: to - from + 1 }, (_, place): BlockRows => {
    const height = from + place;
    const data = `ISSUE|0|TOK${String.fromCharCode(65 + height)}|0`;
    return {
      height,
      time: L0 + STEP_S * height,
      hash: height === 0 ? LITECOIN.genesisHash : hashOf(height, 'c'),
      previousHash: height === 0 ? '' : height === 1 ? LITECOIN.genesisHash : hashOf(height - 1, 'c'),
      transactions: [
        {
          hash: hashOf(height, 'd'),
          source: 'A',
          data,
          rawData: null,
          pubkey: null,
          outputs: [{ vout: 0, address: 'Z', amount: 2_000_000n }],
          dispensers: { opened: [], extendedTo: null }
        }
      ],
      findings: []
    };
  });
}

test('PRICES_REPLACED: Litecoin waits for settled prices of Bitcoin, is the same whenever it is indexed, and halts at a deep reorg', async () => {
  const [decoderDatabase, bitcoinDatabase] = [await createDatabase('decoder'), await createDatabase('indexer')];
  const [followed, fresh] = [await createDatabase('indexer'), await createDatabase('indexer')];
  const decoder = await openDecoderStore(decoderDatabase);
  const bitcoin = await IndexerStore.open(bitcoinDatabase, TEST_RULES, 30, { base: BASE });
  const mine = async (from: number, to: number, branch?: string) => {
    for (let height = from; height <= to; height++) await bitcoin.addBlocks([bitcoinBlock(height, branch)]);
  };
  const workOn = async (database: DatabaseCoordinates) => {
    const work = new IndexerWork({
      openSource: () => DecoderSource.open(decoderDatabase, LITECOIN, 30),
      openStore: () => IndexerStore.open(database, LITECOIN_RULES, 30),
      openPrices: () => PriceSource.open(bitcoinDatabase, BASE, 30),
      maxRollbackDepth: 100,
      pollIntervalMs: 10,
      log: silentLogger
    });
    await work.openStore();
    await work.openSource();
    return work;
  };
  const advance = async (work: IndexerWork) => {
    while ((await work.inspect()) === 'blocks' && (await work.read()) === 'blocks') await work.write();
    return work.facts.lastIndexedBlock;
  };
  const statuses = async (database: DatabaseCoordinates) =>
    (
      await sql(
        database,
        'SELECT s.status FROM issues i JOIN index_statuses s ON s.id = i.status_id ORDER BY i.action_index'
      )
    ).map(({ status }) => status);
  const works: IndexerWork[] = [];
  try {
    await decoder.writeBlocks(litecoinBlocks(0, 20));
    const work = await workOn(followed);
    works.push(work);
    assert.equal(await advance(work), null);
    assert.match(work.facts.waitReason ?? '', /the index of Bitcoin with the prices, .* has no block/);
    await mine(0, 10);
    assert.equal(await advance(work), null, 'another block of the same median time may follow');
    const needed = `block 0 needs the prices of all Bitcoin blocks up to the median time ${T0 + 3_000};`;
    assert.ok(work.facts.waitReason?.startsWith(needed), String(work.facts.waitReason));
    await mine(11, 21);
    assert.equal(await advance(work), 15);
    const valid = Array.from({ length: 14 }, () => 'valid');
    const stale = 'invalid: no current oracle price for GAS/USD (missing or stale beyond 1800s)';
    const dearer = 'invalid: insufficient native coin fee (paid: 0.02, expected: 0.04, min: 0.038)';
    assert.deepEqual(await statuses(followed), [...valid, stale, dearer]);
    assert.deepEqual(await sql(followed, 'SELECT DISTINCT oracle_round AS round FROM fees'), [{ round: 1 }]);
    await mine(22, 30);
    assert.equal(await advance(work), 20);
    assert.equal(work.facts.waitReason, null);
    const late = await workOn(fresh);
    works.push(late);
    assert.equal(await advance(late), 20);
    assert.deepEqual(await dumpIndexer(fresh), await dumpIndexer(followed));

    await bitcoin.rollBack(27);
    await decoder.writeBlocks(litecoinBlocks(21, 21));
    await mine(27, 31, 'f');
    assert.equal(await advance(work), 21, 'what was replaced was in no use');
    await decoder.writeBlocks(litecoinBlocks(22, 22));
    await bitcoin.rollBack(19);
    assert.equal(await work.inspect(), 'blocks');
    assert.equal(await work.read(), 'unpriced', 'an index that is built anew is waited for');
    assert.match(work.facts.waitReason ?? '', /is at block 18, below \d+, whose prices are in use/);
    await mine(19, 31, 'g');
    await assert.rejects(work.read(), (error: Error) => {
      assert.ok(hasCode(error, 'PRICES_REPLACED'));
      assert.match(error.message, /block \d+ of Bitcoin is now 0+g\d+, but/);
      return true;
    });
  } finally {
    for (const work of works) work.close();
    bitcoin.close();
    await decoder.database.close();
  }
});

test('DATABASE_UNUSABLE: prices of a database that is no index of Bitcoin, or one by another profile', async () => {
  const [none, other] = [await createDatabase('indexer'), await createDatabase('indexer')];
  const open = (database: DatabaseCoordinates) => PriceSource.open(database, BASE, 30);
  const store = await IndexerStore.open(none, TEST_RULES, 30);
  store.close();
  await sql(none, 'DROP TABLE ledger_base');
  await assert.rejects(open(none), { code: 'DATABASE_UNUSABLE', message: /has no ledger_base/ });
  const base = ledgerBaseOf(DEFAULT_PROFILE, LITECOIN, 'PLATFORM');
  const foreign = await IndexerStore.open(other, TEST_RULES, 30, { base });
  foreign.close();
  await assert.rejects(open(other), {
    code: 'DATABASE_UNUSABLE',
    message: /network is litecoin-regtest in the database/
  });
});
