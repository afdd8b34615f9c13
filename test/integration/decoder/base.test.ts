import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { DEFAULT_PROFILE, type Profile } from '../../../src/coin/profile.ts';
import { decoderBaseOf } from '../../../src/decoder/base.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { hasCode } from '../../../src/errors.ts';
import { scanRules } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

const network = chainNetwork('litecoin', 'regtest');
const rules = scanRules(network, 'TEST');
const withHeight = (name: string, height: number | null): Profile => ({
  ...DEFAULT_PROFILE,
  activations: { ...DEFAULT_PROFILE.activations, [name]: height }
});

test('DATABASE_UNUSABLE: a decoder database of another magic, hop or rule is refused with both values', async () => {
  const database = await createDatabase('decoder');
  const base = decoderBaseOf(rules, DEFAULT_PROFILE, network);
  const refusal = async (other: typeof base): Promise<string | null> => {
    try {
      const { database: opened } = await openDecoderStore(database, { base: other });
      await opened.close();
      return null;
    } catch (caught) {
      assert.ok(hasCode(caught, 'DATABASE_UNUSABLE'), String(caught));
      return caught.message;
    }
  };
  const store = await openDecoderStore(database, { base });
  const block = { time: 1_700_000_000, previousHash: '', transactions: [], findings: [] };
  await store.writeBlocks([{ ...block, height: 0, hash: 'a'.padStart(64, '0') }]);
  await store.database.close();
  assert.equal(await refusal(base), null);
  const asked = (change: Partial<typeof rules>) =>
    refusal(decoderBaseOf({ ...rules, ...change }, DEFAULT_PROFILE, network));
  assert.match((await asked({ magic: 'ABCD' }))!, /payloadMagic is TEST in the database and ABCD by the settings/);
  assert.match((await asked({ alwaysHops: true }))!, /sourceHop is auto in the database and always by/);
  const changed = (height: number | null) =>
    refusal(decoderBaseOf(rules, withHeight('TAPROOT_ENVELOPE', height), network));
  assert.match(String(await changed(0)), /activation TAPROOT_ENVELOPE is .* blocks up to 0 are written by the former/);
  assert.equal(await changed(5), null, 'what is to come may change');
});
