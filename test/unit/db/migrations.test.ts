import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checksumOf, MIGRATIONS as DECODER } from '../../../src/decoder/migrations.ts';
import { MIGRATIONS as INDEXER } from '../../../src/indexer/store/migrations.ts';

/** First digits of the checksum of each migration that databases may have had. A new one is added; none of these changes. */
const RELEASED = {
  indexer: [
    '2026-11-26-mapping-types 5a2cc9053fd7',
    '2026-11-26-pushed-rewards 9f49d619c8a9',
    '2026-11-26-mint-totals 2fa134057c29',
    '2026-11-26-files-of-tokens db4ebfbf1111',
    '2026-11-26-mappings-of-lists ee99054433d4',
    '2026-11-27-address-preferences 0542f1d5d31f',
    '2026-11-27-deciding-actions c5389d191bd3',
    '2026-11-28-edited-items 20da93a25fb1',
    '2026-11-29-offer-edits e90cb72a0932'
  ],
  decoder: [
    '2026-11-23-tables 5a74831c96c4',
    '2026-11-24-dispenser-extensions 71b897360a14',
    '2026-11-24-lookup-undo 4ff415026b8c',
    '2026-11-26-columns-in-use c4ae27083cd0',
    '2026-11-26-dispenser-watches 4b2da99beb82',
    '2026-11-27-decoder-base 2676f1a46fb9',
    '2026-11-27-watched-prices 9957ad867b8d',
    '2026-11-30-dispenser-tills 48f8e2ab4f2f',
    '2026-11-30-tills-by-pair 6ab3cfdd9500',
    '2026-11-30-tills-not-by-source 2e118ccbc229'
  ]
} as const;

test('no migration changes that databases may have had, also not by a text that it shares: they would be refused', () => {
  const checksums = (list: typeof INDEXER) => list.map((one) => `${one.name} ${checksumOf(one).slice(0, 12)}`);
  assert.deepEqual({ indexer: checksums(INDEXER), decoder: checksums(DECODER) }, RELEASED);
});
