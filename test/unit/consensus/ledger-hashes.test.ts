import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import {
  actionsHash,
  contractHash,
  type LedgerRow,
  ledgerHash,
  stateHash
} from '../../../src/consensus/ledger-hashes.ts';
import fc from '../../support/fast-check.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const ZERO = '0'.repeat(64);

const PREIMAGES = {
  firstLedger: '{"credits":[],"debits":[],"escrows":[],"block_index":1,"hash_version":1}',
  ledger: `{"credits":[{"action_index":3,"address":"b","tick":"GAS","amount":"1.5"}],"debits":[{"action_index":3,"address":"a","tick":"GAS","amount":"1.5"}],"escrows":[],"block_index":7,"previous_hash":"${ZERO}","hash_version":1}`,
  actions: `{"0":{"action_index":4,"tx_index":2,"action":"SEND"},"1":{"action_index":5,"tx_index":2,"action":"MINT"},"block_index":7,"previous_hash":"${ZERO}","hash_version":1}`,
  contract: `{"contracts":[],"state":[],"executions":[],"emissions":[],"deposits":[],"withdrawals":[],"block_index":7,"previous_hash":"${ZERO}","hash_version":1}`,
  firstState: '{"balances":[],"tokens":[],"block_index":1,"hash_version":1}',
  state: `{"balances":[{"address":"a","tick":"GAS","amount":"0"},{"address":"b","tick":"GAS","amount":"1.5"}],"tokens":[{"tick":"GAS","owner":"a","supply":"1.5"}],"block_index":7,"previous_hash":"${ZERO}","hash_version":1}`
};

const position = { blockIndex: 7, previousHash: ZERO };
const row = (action_index: number, address: string, tick = 'GAS', amount = '1.5'): LedgerRow => ({
  action_index,
  address,
  tick,
  amount
});

/** Computed from the preimages above by another program. */
const HASHES = {
  firstLedger: '05991e2c91a1e7b464ed28b30d6c692c65e8576e1eca0d2ccb38b3fbc9d55cde',
  ledger: '839d6acadd74ea7d12d9bb66d763dbcf97ebbbb2beaa20c5459f1e8107f10768',
  actions: 'd5c1a2dc5552f674837e817062edbb38ce6a6420831fa319886f7d32d0f44489',
  contract: '720a6b27ffad727e3bce9b3eee895e6218fe60d3ab961a3063c91a908e8562aa',
  firstState: '242841c17a0c49afefac5dcd97fa264cb931609bda6ad0df7c388b2de6c226ce',
  state: '4a8b2c018f5c4ac844d7f45397f12c336384506b1876eb3d0394b01027131a7f'
};

test('golden vectors of the four hashes', () => {
  const actions = [
    { action_index: 5, tx_index: 2, action: 'MINT' },
    { action_index: 4, tx_index: 2, action: 'SEND' }
  ];
  const balances = [
    { address: 'b', tick: 'GAS', amount: '1.5' },
    { address: 'a', tick: 'GAS', amount: '0' }
  ];
  const tokens = [{ tick: 'GAS', owner: 'a', supply: '1.5' }];
  assert.deepEqual(
    {
      firstLedger: ledgerHash({ credits: [], debits: [], escrows: [] }, { blockIndex: 1, previousHash: undefined }),
      ledger: ledgerHash({ credits: [row(3, 'b')], debits: [row(3, 'a')], escrows: [] }, position),
      actions: actionsHash(actions, position),
      contract: contractHash({}, position),
      firstState: stateHash({ balances: [], tokens: [] }, { blockIndex: 1, previousHash: undefined }),
      state: stateHash({ balances, tokens }, position)
    },
    HASHES
  );
});

test('each golden vector is the SHA-256 of its preimage', () => {
  for (const name of Object.keys(HASHES) as (keyof typeof HASHES)[])
    assert.equal(sha256(PREIMAGES[name]), HASHES[name]);
});

test('rows are ordered by action, address and ticker in bytes, then amount; roles stand for addresses', () => {
  const sorted = [row(1, 'B'), row(1, 'a', 'X'), row(1, 'a', 'x'), row(1, '～'), row(1, '😀'), row(2, 'A')];
  const hashed = (credits: LedgerRow[], roles?: ReadonlyMap<string, string>) =>
    ledgerHash({ credits, debits: [], escrows: [] }, position, roles);
  const preimage = (credits: LedgerRow[]) =>
    sha256(
      `{"credits":${JSON.stringify(credits)},"debits":[],"escrows":[],"block_index":7,"previous_hash":"${ZERO}","hash_version":1}`
    );
  fc.assert(
    fc.property(fc.shuffledSubarray(sorted, { minLength: sorted.length }), (shuffled) => {
      assert.equal(hashed(shuffled), preimage(sorted));
    })
  );
  assert.equal(hashed([row(1, 'a'), row(1, 'z')], new Map([['z', 'BURN']])), preimage([row(1, 'BURN'), row(1, 'a')]));
});
