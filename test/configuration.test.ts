import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { conditionOf } from '../scripts/documents/action-conditions.ts';
import { ACTIONS_FILE, renderActions } from '../scripts/documents/actions.ts';
import { CONFIGURATION_FILE, renderConfiguration } from '../scripts/documents/configuration.ts';
import { NETWORKS_FILE, renderNetworks } from '../scripts/documents/networks.ts';
import { DEFAULT_PROFILE, readProfile } from '../src/coin/profile.ts';
import { HANDLERS } from '../src/indexer/actions/handlers.ts';

const networks = readFileSync(NETWORKS_FILE, 'utf8');

test('docs/operating/configuration.md lists the variables as they are; if not: npm run configuration', async () => {
  assert.equal(readFileSync(CONFIGURATION_FILE, 'utf8'), await renderConfiguration());
});

test('docs/operating/networks.md lists the networks as they are; if not: npm run configuration', () => {
  assert.equal(networks, renderNetworks());
  assert.match(networks, /\| `litecoin-regtest` \| `RLTC` \| 19443 \|/);
});

test('the profile in docs/operating/networks.md is one, and its table names every field', () => {
  const [, example = ''] = /```json\n([\s\S]*?)```/.exec(networks) ?? [];
  assert.equal(readProfile(JSON.parse(example)).payloadMagic, 'EXMP');
  for (const field of Object.keys(DEFAULT_PROFILE)) assert.ok(networks.includes(`| \`${field}\` |`), field);
});

test('every status of an action has its condition; if not: scripts/documents/action-conditions.ts', () => {
  const handlers = [...HANDLERS.values()].flatMap((handler) => handler.parts ?? [handler]);
  const bare = handlers.flatMap(({ name, statuses }) =>
    statuses.filter((status) => conditionOf(name, status) === undefined).map((status) => `${name}: ${status}`)
  );
  assert.deepEqual(bare, []);
});

test('docs/actions.md lists the rules of the ledger as they are; if not: npm run configuration', () => {
  assert.equal(readFileSync(ACTIONS_FILE, 'utf8'), renderActions());
});
