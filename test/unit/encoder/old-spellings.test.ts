import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bech32m } from '@scure/base';
import { ADDRESS_FIELDS, addressFields } from '../../../src/coin/action/address-fields.ts';
import { parseCommand } from '../../../src/coin/action/command.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { activationHeight, DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { createTransaction, type EncoderDeps } from '../../../src/encoder/creation/create-transaction.ts';
import { refuseOldSpellings } from '../../../src/encoder/creation/old-spellings.ts';
import type { CreateRequest } from '../../../src/encoder/creation/request.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { HANDLERS } from '../../../src/indexer/actions/handlers.ts';

const LITECOIN = chainNetwork('litecoin', 'mainnet');
const FROM = activationHeight(DEFAULT_PROFILE, LITECOIN, 'CANONICAL_ADDRESSES');
const PROGRAM = Buffer.alloc(20, 7);
const paidTo = (network: typeof LITECOIN) =>
  addressOf(payTo({ kind: 'scriptHash', bytes: PROGRAM }), network.addresses)!;
const NEW = paidTo(LITECOIN);
const OLD = paidTo(chainNetwork('bitcoin', 'mainnet'));
const UNKNOWN_WITNESS = bech32m.encode('ltc', [2, ...bech32m.toWords(PROGRAM)]);
const PAYS_OLD = { customOutputs: [{ address: OLD, value: 5_000 }] };

type Asked = Pick<CreateRequest, 'data' | 'customOutputs'>;

/** The reason of a refusal; undefined for what is taken. */
function reasonOf(asked: Asked, nextHeight = FROM - 1, from = FROM, network = LITECOIN): string | undefined {
  try {
    refuseOldSpellings(asked, { network, from, nextHeight });
    return undefined;
  } catch (caught) {
    const { code, detail } = caught as PlatformError;
    assert.equal(code, 'REQUEST_INVALID');
    return String(detail['reason']);
  }
}

test('REQUEST_INVALID: a COINPAY or a plain payment to an old spelling, which no offer there is served for', () => {
  for (const data of ['COINPAY|0|7', 'coinpay||7', 'BATCH|0|BROADCAST|0|hi;COINPAY|0|7', '', undefined]) {
    const reason = reasonOf({ ...(data === undefined ? {} : { data }), ...PAYS_OLD })!;
    for (const part of [OLD, NEW, `block ${FROM}`, 'cancel it and offer at']) assert.ok(reason.includes(part), reason);
  }
  const never = reasonOf({ data: 'COINPAY|0|7', ...PAYS_OLD }, 1, Number.POSITIVE_INFINITY)!;
  assert.ok(never.includes('Without CANONICAL_ADDRESSES') && !never.includes('wait for'), never);
});

test('REQUEST_INVALID: an action that gives something to an old spelling, or to a witness that nobody can spend', () => {
  const given = [
    `SEND|0|TOKA|1|${OLD}`,
    `TRANSFER|TOKA|1|${OLD}`,
    `SEND|1|TOKA|1|${NEW}|2|${OLD}|memo`,
    `SEND|2|TOKA|1|${NEW}|TOKA|2|${OLD}`,
    `SEND|3|TOKA|1|${NEW}||TOKA|2|${OLD}|memo`,
    `MINT|0|TOKA|1|${OLD}`,
    `ISSUE|0|TOKB|10|0|0||10|${OLD}`,
    `ISSUE|0|TOKB|10|0|0||10||${OLD}`,
    `ISSUE|2|TOKB||5|${OLD}`,
    `ORDER|0|LTC|TOKA|1|0|LTC||1|0|${OLD}`,
    `SWAP|0|LTC|TOKA|1|0|LTC|TOKB|1|0|${OLD}`,
    `DISPENSER|0|LTC|TOKA|1|0|10|LTC||1|${OLD}`,
    `SWEEP|0|${OLD}`,
    `LIST|0|2||${NEW}|${OLD}`,
    `LIST|1|1|9||${OLD}`,
    `LIST|3|9|${OLD}`,
    `VOTE|3|TOKA|${OLD}`,
    `BATCH|0|BROADCAST|0|hi;SWEEP|0|${OLD}`
  ];
  for (const data of given) assert.match(reasonOf({ data })!, new RegExp(`is ${OLD}\\. .*: write ${NEW}$`), data);
  assert.match(reasonOf({ data: `SEND|0|TOKA|1|${UNKNOWN_WITNESS}` })!, /is lost: name another address/);
});

test('taken: usual spellings, texts that name nobody, payments beside other actions, and all from the height on', () => {
  const taken: Asked[] = [
    { data: 'COINPAY|0|7', customOutputs: [{ address: NEW, value: 5_000 }] },
    { data: `SEND|0|TOKA|1|${NEW}|${OLD}` },
    { data: `BROADCAST|0|${OLD}` },
    { data: `MESSAGE|3|BTC|${OLD}|hi` },
    { data: 'SEND|0|TOKA|1|someone' },
    { data: 'BROADCAST|0|hi', ...PAYS_OLD }
  ];
  for (const asked of taken) assert.equal(reasonOf(asked), undefined, JSON.stringify(asked));
  assert.equal(reasonOf({ data: 'COINPAY|0|7', ...PAYS_OLD }, FROM), undefined);
  assert.equal(reasonOf({ data: `SEND|0|TOKA|1|${OLD}` }, FROM), undefined);
  assert.equal(reasonOf(PAYS_OLD, 1, FROM, chainNetwork('bitcoin', 'mainnet')), undefined, 'there it is the usual one');
});

test('create_tx refuses it before it looks for coins', async () => {
  const policy = { read: async () => ({ height: FROM - 2 }) };
  const deps = { network: LITECOIN, profile: DEFAULT_PROFILE, policy } as Partial<EncoderDeps> as EncoderDeps;
  const asked = createTransaction({ pubkey: NEW, data: 'COINPAY|0|7', ...PAYS_OLD }, deps, 'caller');
  await assert.rejects(asked, ({ code, detail }: PlatformError) => {
    assert.deepEqual([code, String(detail['reason']).includes(OLD)], ['REQUEST_INVALID', true]);
    return true;
  });
});

test('the places of addresses are those of the fields in the formats of the ledger', () => {
  const named = new Set(['DESTINATION', 'GET_ADDRESS', 'ORACLE_ADDRESS', 'TRANSFER', 'TRANSFER_SUPPLY', 'DELEGATE_TO']);
  const handlers = [...HANDLERS.values()].flatMap((handler) => handler.parts ?? [handler]);
  for (const { name: recorded, formats } of handlers) {
    const name = recorded.split('_')[0]!;
    for (const [format, text] of Object.entries(formats)) {
      // Two rounds of what repeats, each field by its own name.
      const fields = text
        .replaceAll(/\(([^)]*)\)\+/g, '$1|$1')
        .replaceAll(/([A-Z]+)\+/g, '$1|$1')
        .split('|');
      const expected = fields.filter((field) => named.has(field) || field === 'ITEM');
      const found = addressFields(parseCommand(`${name}|${format}|${fields.join('|')}`)).map((field) => field.text);
      if (name === 'MESSAGE') continue; // it moves nothing, and its address may be of another chain
      if (!Object.hasOwn(ADDRESS_FIELDS[name] ?? {}, format)) assert.deepEqual(expected, [], `${name}|${format}`);
      else
        assert.deepEqual(
          found.filter((field) => field !== 'MEMO'),
          expected,
          `${name}|${format}`
        );
    }
  }
});
