import { parseAmount } from '../../src/consensus/amount.ts';
import type { ChainTransaction } from '../../src/indexer/block/block.ts';
import fc from './fast-check.ts';

const ADDRESSES = ['A', 'B', 'C', 'D', 'E'];
const TICKS = ['TOKA', 'TOKB', 'TOKA.X', 'toka', '^1', '^2', '^77', 'NOPE', ''];
const AMOUNTS = ['0', '1', '2', '3.5', '0.01', '10', '100', '1e3', '-1', '+2', '', '0.0000000000000000001', '１'];

const address = fc.constantFrom(...ADDRESSES, '^1', '^3', 'bad', '');
const tick = fc.constantFrom(...TICKS);
const amount = fc.constantFrom(...AMOUNTS);
const memo = fc.constantFrom('', 'hi', 'm'.repeat(251));
const index = fc.oneof(fc.constantFrom('4', '5'), fc.nat({ max: 60 }).map(String));
const flag = fc.constantFrom('', '0', '1', 'x');
const block = fc.constantFrom('', '0', '3', '20', '-1', 'soon');

/** Expirations: in a near block, none, or passed. */
const expiration = fc.constantFrom('', '', '', '1700004000', '1700008000', '5', 'soon');
const offered = fc.constantFrom('TOKA', 'TOKA', 'TOKB', '', 'NOPE');
const price = fc.constantFrom('1', '2', '3.5', '4', '10', '', '0');
const owned = fc.constantFrom('', '', '0', '1', 'x');
const list = fc.constantFrom('', '', '', '4', '5', '0');
const coin = fc.constantFrom('BTC', 'BTC', 'BTC', 'BTC', 'LTC', 'x');
const offer = fc.oneof(index, fc.integer({ min: 7, max: 12 }).map(String));

const fields = (...parts: fc.Arbitrary<string>[]) => fc.tuple(...parts).map((texts) => texts.join('|'));
const just = fc.constant;

const simpleAction = fc.oneof(
  fields(
    just('ISSUE|0'),
    tick,
    amount,
    amount,
    fc.constantFrom('', '0', '2', '002', '018', '19'),
    memo,
    amount,
    address,
    address
  ),
  fields(just('ISSUE|2'), tick, amount, amount, address, amount, block, block),
  fields(just('ISSUE|3'), tick, flag, flag, flag, flag, flag, flag, flag),
  fields(just('ISSUE|4'), tick, block, tick, amount),
  fields(just('ISSUE|5'), tick, index, index),
  fields(just('ISSUE|0'), fc.constantFrom('TOKA', 'TOKB'), just('100000'), just('0'), just('2'), just(''), just('500')),
  fields(just('MINT|0'), tick, amount, address, memo),
  fields(just('MINT|0'), fc.constantFrom('TOKA', 'TOKB'), just('50')),
  fields(just('SEND|0'), tick, amount, address, memo),
  fields(just('SEND|1'), tick, amount, address, amount, address, memo),
  fields(just('SEND|2'), tick, amount, address, tick, amount, address),
  fields(just('SEND|3'), tick, amount, address, memo, tick, amount, address, memo),
  fields(just('DESTROY|0'), tick, amount, memo),
  fields(just('DESTROY|1'), tick, amount, tick, amount),
  fields(just('BROADCAST|0'), memo, amount),
  fields(just('BROADCAST|3'), index, amount),
  fields(just('ADDRESS|0'), flag, flag, flag),
  fields(just('LIST|0'), fc.constantFrom('1', '2', '3'), memo, tick, address, address),
  fields(just('LIST|1'), fc.constantFrom('1', '2'), index, memo, address, tick),
  fields(just('LIST|3'), index, address),
  fields(just('SLEEP|0'), block),
  fields(just('SLEEP|1'), block, tick),
  fields(just('AIRDROP|0'), tick, amount, index),
  fields(just('DIVIDEND|0'), tick, tick, amount),
  fields(just('CALLBACK|0'), tick),
  fields(just('SWEEP|0'), address, flag, flag),
  fields(just('LINK|0'), just('BTC'), index, just('BTC'), index),
  fields(just('MESSAGE|3'), just('BTC'), address, memo),
  fields(just('FILE|0'), memo, memo, memo),
  fc.string({ maxLength: 40 })
);
const key = fc.oneof(
  { weight: 4, arbitrary: just('a'.repeat(64)) },
  fc.constantFrom('B'.repeat(64), 'c'.repeat(64), 'x', '')
);
const staking = fc.oneof(
  fields(fc.constantFrom('STAKE|1', 'STAKE|2'), fc.constantFrom('5', '2.5', '100', '0', '1.123456789', ''), key),
  fields(just('UNSTAKE|0'), key, fc.constantFrom('', '', '2', '5', '0', 'x')),
  fields(fc.constantFrom('DELEGATE|0', 'DELEGATE|2'), key),
  fields(just('COLLECT|0'), amount)
);
/** Mostly an offer that was there from the beginning. */
const own = (name: 'ORDER' | 'SWAP') => fc.oneof({ weight: 3, arbitrary: just(name === 'SWAP' ? '9' : '7') }, offer);

const trade = (name: 'ORDER' | 'SWAP') =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fields(
        just(`${name}|0`),
        coin,
        offered,
        price,
        owned,
        just('BTC'),
        offered,
        price,
        owned,
        address,
        expiration,
        list,
        list,
        memo
      )
    },
    { weight: 4, arbitrary: fields(just(`${name}|0|BTC|TOKA`), price, just('|BTC|TOKB'), price) },
    {
      weight: 4,
      arbitrary: fields(just(`${name}|0|BTC|TOKB`), price, just('|BTC|TOKA'), price, just(''), address, expiration)
    },
    { weight: 6, arbitrary: fields(just(`${name}|1`), own(name), memo) },
    { weight: 6, arbitrary: fields(just(`${name}|2`), own(name), expiration, list, list) },
    { weight: 3, arbitrary: fields(just(`${name}|2`), own(name)) },
    just(name === 'SWAP' ? 'SWAP|0|BTC|TOKA|4|0|BTC|TOKB|4' : 'ORDER|0|BTC|TOKB|5|0|BTC|TOKA|1')
  );
const offerAction = fc.oneof(
  trade('ORDER'),
  trade('SWAP'),
  fields(just('ORDER|0|BTC||'), price, just('|BTC|TOKA'), price),
  fields(just('ORDER|0|BTC|TOKA'), price, just('|BTC|'), price),
  fields(just('ORDER|0|BTC|TOKA||1|BTC|TOKB'), price),
  fields(just('ORDER|0|BTC|TOKB'), price, just('|BTC|TOKA||1')),
  fields(just('COINPAY|0'), offer),
  just('COINPAY|0|12'),
  just('ORDER|0|BTC|TOKA|1|0|BTC|TOKB|90|||1700004000'),
  just('DISPENSER|0|BTC|TOKA|1||2|BTC|TOKB|4|||||1700004000'),
  fields(
    just('DISPENSER|0'),
    coin,
    offered,
    price,
    owned,
    price,
    just('BTC'),
    offered,
    price,
    address,
    just('||'),
    expiration,
    list,
    list
  ),
  fields(just('DISPENSER|0|BTC|TOKA'), price, just(''), fc.constantFrom('10', '20'), just('BTC|'), price),
  fields(
    just('DISPENSER|0|BTC|TOKA'),
    price,
    just(''),
    fc.constantFrom('10', '20'),
    just('BTC|TOKB'),
    price,
    just('||||'),
    expiration
  ),
  fields(just('DISPENSER|0|BTC|TOKA||1||BTC|TOKB'), price),
  fields(just('DISPENSER|1'), offer, memo),
  fields(just('DISPENSER|2'), offer, price, expiration, list, list),
  fields(just('SWEEP|0'), address, flag, flag, flag, flag, flag),
  fields(just('SEND|0|TOKB'), fc.constantFrom('4', '10', '20'), fc.constantFrom('A', 'B', 'C')),
  fields(just('PAY'), fc.constantFrom('A', 'B', 'C'), fc.constantFrom('1', '4', '20'))
);
const batch = fc
  .array(fc.oneof(simpleAction, offerAction, staking), { maxLength: 5 })
  .map((commands) => `BATCH|0|${commands.join(';')}`);

/** A transaction's source and action text: some valid, some refused, some nonsense. */
const anyTransaction = fc.tuple(
  fc.constantFrom(...ADDRESSES),
  fc.oneof(
    { weight: 6, arbitrary: simpleAction },
    { weight: 6, arbitrary: offerAction },
    { weight: 2, arbitrary: staking },
    batch,
    key.map((named) => `BATCH|0|DELEGATE|0|${named};DELEGATE|2|${named}`)
  )
);

/** Actions with which most chains begin, so that later ones have something to move. */
const OPENING = [
  ['A', 'ISSUE|0|TOKA|100000|0|2||500'],
  ['B', 'ISSUE|0|TOKB|0|0|0||500'],
  ['A', 'ISSUE|4|TOKA|1|TOKB|1'],
  ['A', 'LIST|0|2||A|B|C'],
  ['B', 'LIST|0|1||TOKA'],
  ['B', 'SEND|0|TOKB|200|A']
] as const;

/** Offers of which two match, so that later actions have something to pay, edit and cancel. */
const MARKET = [
  ...OPENING,
  ['A', 'ORDER|0|BTC|TOKA|5|0|BTC|TOKB|20'],
  ['A', 'ORDER|0|BTC|TOKA|8|0|BTC||4'],
  ['B', 'SWAP|0|BTC|TOKB|4|0|BTC|TOKA|4'],
  ['A', 'DISPENSER|0|BTC|TOKA|2||20|BTC|TOKB|4'],
  ['B', 'ORDER|0|BTC||2|0|BTC|TOKA|4']
] as const;

/** Gas to stake, two keys behind which there is some, and offers that end soon. */
const STAKES = [
  ['A', 'ISSUE|0|GAS|100000|0|8||1000'],
  ['A', 'SEND|1|GAS|100|B|50|E'],
  ['A', `STAKE|1|20|${'a'.repeat(64)}`],
  ['B', `STAKE|1|7|${'b'.repeat(64)}`],
  ['A', 'DISPENSER|0|BTC|TOKA|1||2|BTC|TOKB|4|||||1700004000'],
  ['A', 'SWAP|0|BTC|TOKA|90|0|BTC|TOKB|90|||1700004000']
] as const;

/** Blocks that follow each other from height 1. */
export const anyBlocks = fc
  .tuple(
    fc.constantFrom([...MARKET, ...STAKES], [...MARKET, ...STAKES], OPENING, []),
    fc.array(fc.array(anyTransaction, { maxLength: 12 }), { minLength: 1, maxLength: 12 })
  )
  .map(([opening, blocks]) =>
    [opening, ...blocks].map((transactions, place) => ({
      height: place + 1,
      time: 1_700_000_000 + 1_800 * place,
      hash: `${place + 1}`.padStart(64, 'b'),
      transactions: transactions.map(([source, data], position) => ({
        hash: `${place + 1}.${position}`.padStart(64, 'c'),
        source,
        fee: null,
        ...contentOf(data)
      }))
    }))
  );

/** `PAY|address|amount` is a payment alone; a COINPAY pays everybody. */
function contentOf(data: string): Pick<ChainTransaction, 'data' | 'outputs'> {
  const [name, to = '', amount = ''] = data.split('|');
  if (name === 'PAY') return { data: '', outputs: [{ vout: 0, address: to, amount: parseAmount(amount)! }] };
  if (!data.includes('COINPAY')) return { data };
  return { data, outputs: ADDRESSES.map((payee, vout) => ({ vout, address: payee, amount: parseAmount('10')! })) };
}
