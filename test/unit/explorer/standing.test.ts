import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { linksIn } from '../../../src/explorer/pages/parts.ts';
import { standingOf } from '../../../src/explorer/pages/standing.ts';
import type { ExplorerReport } from '../../../src/explorer/report.ts';

const network = chainNetwork('bitcoin', 'mainnet');
const WELL: ExplorerReport = {
  state: 'available',
  circuit: 'closed',
  height: 100,
  decoderTip: 100,
  mark: 'a',
  lastError: null,
  upstream: null
};
const nowS = () => Math.floor(Date.now() / 1_000);

function textOf(report: ExplorerReport | null, timestamp = nowS()): string {
  const tip = { block_index: '100', timestamp: String(timestamp) };
  return standingOf({ network, report, tip, linkTo: linksIn('') }).text.replaceAll(/<[^>]*>/g, '');
}

test('the front page says what the network is and how far its ledger is', () => {
  const text = textOf(WELL);
  assert.match(text, /Tokens on Bitcoin mainnet/);
  assert.match(text, /It is at block 100, made \d{4}-/);
  assert.doesNotMatch(text, /behind|old|does not go on/);
});

test('the front page says when the ledger is behind, has stopped, or has an old newest block, and why', () => {
  assert.match(
    textOf({ ...WELL, state: 'stale', decoderTip: 107 }),
    /7 blocks behind its decoder, which is at block 107/
  );
  const upstream = { code: 'UPSTREAM_STOPPED', reason: 'the decoder has stopped', remedy: 'start it', since: 0 };
  assert.match(textOf({ ...WELL, upstream }), /does not go on: the decoder has stopped; start it/);
  assert.match(textOf({ ...WELL, state: 'stale', decoderTip: null }), /its decoder does not answer/);
  assert.match(textOf(WELL, nowS() - 100_000), /The newest block is old: the chain has had none since/);
});
