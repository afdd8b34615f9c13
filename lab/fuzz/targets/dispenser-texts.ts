import assert from 'node:assert/strict';
import fc from 'fast-check';
import { commandsIn, MAX_COMMANDS, parseCommand } from '../../../src/coin/action/command.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { readDispenser } from '../../../src/decoder/dispensers/action.ts';
import { DispenserRun, NO_STOPS, NONE_BEFORE } from '../../../src/decoder/dispensers/run.ts';
import { MedianClock } from '../../../src/decoder/median-clock.ts';
import type { ChainTransaction } from '../../../src/indexer/block/block.ts';
import { rulesOf } from '../../../src/indexer/profile/rules.ts';
import { MemoryLedger } from '../../../test/support/indexer-ledger.ts';
import { NETWORK, OWNERS } from '../../seam/chain.ts';
import { hostileText, ODD_NUMBERS } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const RULES = rulesOf(DEFAULT_PROFILE, NETWORK, 'FUZZ');
const [SELLER, , TILL] = OWNERS as (typeof OWNERS)[number][];
const BUYER = OWNERS[1]!;
const TIME = 1_750_000_000;
const spaced = (text: string) => fc.constantFrom(text, text, ` ${text}`, `${text}\t`, ` ${text} `);
const odd = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('', '0', '1', '2', `${TIME + 9_000}`) },
  hostileText,
  fc.constantFrom(...ODD_NUMBERS)
);
const spoiled = (usual: string) => fc.oneof({ weight: 12, arbitrary: spaced(usual) }, odd);
const opening = fc
  .tuple(
    fc.constantFrom('DISPENSER', ' dispenser', 'Dispenser '),
    fc.constantFrom('0', '', '00', '"0"', ' 0', "'0'", '2', 'x'),
    ...['LTC', 'TOKA', '1', '0', '5', 'ltc', '', '0.00001'].map(spoiled),
    fc.constantFrom('', ...TILL!.spellings, SELLER!.address!),
    ...['', '', '', `${TIME + 9_000}`, '', '', ''].map(spoiled)
  )
  .map((fields) => fields.join('|'));
const texts = fc.oneof(
  { weight: 5, arbitrary: opening },
  fc.array(opening, { maxLength: 4 }).map((commands) => `BATCH|0|${commands.join(';')}`),
  hostileText
);

const PER_BASE_UNIT = 10n ** 10n;
/** Greatest amount of an output, in base units. */
const MOST = 2n ** 63n - 1n;

/** Every dispenser that a ledger opens by a text is one that a decoder watches. */
export const dispenserTexts = target<string>({
  name: 'dispenser-texts',
  promise: 'what a ledger opens by any text, a decoder watches at its price; no text makes either throw',
  runs: 20_000,
  shortRuns: 750,
  inputs: texts,
  check: async (text) => {
    assert.ok(commandsIn(text).length <= MAX_COMMANDS + 1);
    assert.equal(commandsIn(text)[0]!.name, parseCommand(text).name);
    if (text === '') return;
    const ledger = new MemoryLedger(1, RULES);
    ledger.give('TOKA', 0, SELLER!.address!, { [SELLER!.address!]: '1000' });
    const book = new DispenserRun(NONE_BEFORE, new MedianClock(), { limitFrom: 0, stops: NO_STOPS });
    const outputs = [SELLER!, TILL!].map(({ address }, vout) => ({
      vout,
      address: address!,
      amount: parseAmount('0.00001')!
    }));
    const common = { fee: null, hash: '1'.repeat(64) };
    const run = (height: number, transaction: Pick<ChainTransaction, 'source' | 'data' | 'outputs'>) =>
      ledger.run({ height, time: TIME, hash: String(height), transactions: [{ ...common, ...transaction }] });
    run(1, { source: SELLER!.address!, data: text });
    book.enter(1, TIME);
    const dispensers = readDispenser(text, [NETWORK.ticker], NETWORK.addresses);
    await book.apply({ txIndex: 0, source: SELLER!.address!, dispensers });
    for (const offer of ledger.offers) {
      if (offer.kind !== 'dispenser' || offer.get.tick !== null) continue;
      const price = offer.get.amount / PER_BASE_UNIT;
      if (price <= MOST) assert.ok(await book.isTaken(offer.getAddress, price), 'no payment is stored');
    }
    run(2, { source: BUYER.address!, data: '', outputs });
  },
  growing: {
    commands: (length) => `BATCH|0|${'DISPENSER|0;'.repeat(length / 12)}`,
    fields: (length) => `DISPENSER|0${'|'.repeat(length)}`,
    'a field': (length) => `DISPENSER|0|LTC|TOKA|${'9'.repeat(length)}`
  }
});
