import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { before, describe, test } from 'node:test';
import { type Chain, chainNetwork } from '../../../src/coin/chains.ts';
import { DEFAULT_PROFILE, type Profile, readProfile } from '../../../src/coin/profile.ts';
import { atEnd } from '../../support/cleanup.ts';
import { DatabaseReader } from '../../support/examples/database-reader.ts';
import { ExampleLedger } from '../../support/examples/example-ledger.ts';
import { type ExampleFile, FIRST_HEIGHT, readExamples } from '../../support/examples/read.ts';
import { ExampleRun } from '../../support/examples/run-examples.ts';
import { dumpIndexer } from '../../support/indexer-database.ts';

/** The role addresses of the ledger with fees. */
const FEES = {
  name: 'fees',
  gas: {
    issue: 100_000,
    issueSubtoken: 50_000,
    recipient: 100,
    item: 100,
    sweep: 5_000,
    callback: 5_000,
    offerDay: 550,
    offerOwnership: 50_000
  },
  roles: { 'bitcoin-regtest': { DONATE1: 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn' } }
};

/** Validators whose rewards come from a pool. */
const VALIDATORS = {
  name: 'validators',
  roles: { 'bitcoin-regtest': { REWARD: 'mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn' } }
};

/** Limits that an example of a few lines reaches. */
const LIMITS = {
  name: 'limits',
  limits: { parts: 3, dispenses: 2, emptyDispensers: 1, blockUnits: 40 }
};

/** The ledgers that a file of examples may name. @see test/examples/FORMAT */
const LEDGERS: Readonly<Record<string, { readonly chain: Chain; readonly profile: Profile }>> = {
  bitcoin: { chain: 'bitcoin', profile: DEFAULT_PROFILE },
  litecoin: { chain: 'litecoin', profile: DEFAULT_PROFILE },
  dogecoin: { chain: 'dogecoin', profile: DEFAULT_PROFILE },
  fees: { chain: 'bitcoin', profile: readProfile(FEES) },
  validators: { chain: 'bitcoin', profile: readProfile(VALIDATORS) },
  limits: { chain: 'bitcoin', profile: readProfile(LIMITS) }
};

const START = 1_700_000_000;
const STEP_S = 600;
const LONG_PAUSE_S = 100 * 86_400;
/** Blocks are ten minutes apart, but for one long pause. */
const timeAt = (height: number) => START + height * STEP_S + (height >= 200 ? LONG_PAUSE_S : 0);

const FILES: ExampleFile[] = globSync('test/examples/*.txt')
  .toSorted()
  .map((path) => readExamples(basename(path), readFileSync(path, 'utf8')));

for (const [name, { chain, profile }] of Object.entries(LEDGERS)) {
  const examples = FILES.filter(({ ledger }) => ledger === name).flatMap((file) => file.examples);
  if (examples.length === 0) continue;
  describe(`examples of the ledger ${name}`, () => {
    let run: ExampleRun;
    let ledger: ExampleLedger;
    before(async () => {
      const times = Array.from({ length: FIRST_HEIGHT }, (_, height) => timeAt(height));
      ledger = await ExampleLedger.open(chainNetwork(chain, 'regtest'), profile, times);
      const reader = await DatabaseReader.open(ledger.database);
      atEnd(() => reader.close());
      run = new ExampleRun(ledger, reader, timeAt, examples);
      await run.run();
    });
    for (const example of examples)
      test(`${example.file}: ${example.name}`, () => assert.deepEqual(run.faults.get(example) ?? [], []));
    test('every check holds again where blocks are taken back to it, and the same rows come back', async () => {
      run.faults.clear();
      const dump = await dumpIndexer(ledger.database);
      await run.rewind(run.busiest(FIRST_HEIGHT + 12, FIRST_HEIGHT + 20));
      assert.deepEqual(await dumpIndexer(ledger.database), dump);
      for (const from of [FIRST_HEIGHT + 5, FIRST_HEIGHT + 2]) await run.rewind(run.busiest(from, from + 8));
      // Behind more than a thousand blocks, markets are made anew: their times are those of the next refresh.
      assert.deepEqual({ ...(await dumpIndexer(ledger.database)), markets: [] }, { ...dump, markets: [] });
      assert.deepEqual([...run.faults.values()].flat(), []);
    });
  });
}
