import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exploredNetworks } from '../../../src/explorer/start/explored-networks.ts';
import { MASK } from '../../../src/hub/store/config-tree.ts';

test('a hub that masks passwords is named as the reason, with its remedy', () => {
  const module = (name: string, pass: string) => ({ host: 'db', name, user: 'explorer', pass });
  const configs = (pass: string) => ({
    litecoin: { regtest: { 'platform-indexer': module('I', pass), 'platform-decoder': module('D', pass) } }
  });
  const local = { env: {}, file: {} };
  assert.deepEqual(exploredNetworks(configs('known'), local, undefined).problems, []);
  const { networks, problems } = exploredNetworks(configs(MASK), local, undefined);
  assert.deepEqual(networks, []);
  assert.match(
    problems.join('\n'),
    /litecoin-regtest: .*INDEXER_DB_PASS to callers with its key alone: set HUB_API_KEY/
  );
});
