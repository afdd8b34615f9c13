import assert from 'node:assert/strict';
import fc from 'fast-check';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { type ConfigTree, createHubClient, discoverDatabases } from '../../../src/hub/client.ts';
import { pickSettings } from '../../../src/hub/settings.ts';
import { excludeDatabases } from '../../../src/sync/exclusions.ts';
import { hostileText } from '../support/hostile.ts';
import { hostileAnswer } from '../support/hostile-answer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { outcome, target } from '../support/target.ts';

const MODULE = { db_host: '10.0.0.5', db_port: '3306', name: 'Platform_LTC', user: 'sync', pass: 'secret-of-the-hub' };
const CONFIGS = {
  litecoin: { mainnet: { 'platform-indexer': MODULE, 'platform-decoder': { ...MODULE, name: 'D' }, hub: { port: 1 } } }
};
const reply = (result: unknown) => ({ jsonrpc: '2.0', id: 1, result });

const specimens = fc.oneof(
  fc.constantFrom<unknown>(reply({ configs: CONFIGS, watermark: 5, seq: 9 }), reply(CONFIGS), {
    error: { code: -32603, message: 'x' }
  }),
  fc.tuple(hostileText, hostileText, hostileText, hostileText).map(([coin, network, module, value]) =>
    reply({
      configs: { [coin]: { [network]: { [`${module}-indexer`]: { ...MODULE, name: value, db_port: value } } } },
      watermark: 6
    })
  )
);

/** First answer and the next, which counts as a change of it. */
type Answers = readonly [Uint8Array, Uint8Array];
const answers = specimens.chain((first) =>
  specimens.chain((second) => fc.tuple(hostileAnswer(first), hostileAnswer(second)))
);

function checkTree(tree: ConfigTree): void {
  const { databases, problems } = discoverDatabases(tree);
  for (const { id, coordinates } of databases) {
    for (const name of [id.chain, id.network]) assert.match(name, /^[A-Za-z0-9_-]{1,32}$/);
    assert.match(coordinates.name, /^[A-Za-z0-9_]{1,64}$/);
    assert.ok(Number.isInteger(coordinates.port) && coordinates.port >= 1 && coordinates.port <= 65_535);
    for (const text of [coordinates.host, coordinates.user, coordinates.pass]) assert.equal(typeof text, 'string');
  }
  assert.ok(problems.length <= 100);
  for (const problem of problems) {
    assert.match(problem, /^[\x20-\x7e]+$/);
    assert.ok(!problem.includes(MODULE.pass), problem);
    assert.ok(problem.length < 1_000);
  }
  const { kept } = excludeDatabases(databases, ['LTC:mainnet:indexer', ':::', '__proto__:x:indexer']);
  assert.ok(kept.length <= databases.length);
  checkSettings(tree);
}

const PLACES = {
  DB_NAME: { service: 'indexer', params: ['name'] },
  DB_PORT: { service: 'indexer', params: ['db_port', 'port'] }
};

function checkSettings(tree: ConfigTree): void {
  const { texts, problems } = pickSettings(tree, chainNetwork('litecoin', 'mainnet'), PLACES);
  for (const text of Object.values(texts)) assert.match(text, /^[^\p{Cc}]{1,1024}$/u);
  assert.ok(problems.length <= 4);
  for (const problem of problems) assert.match(problem, /^[\x20-\x7e]{1,200}$/);
}

let peer: Promise<RawPeer> | undefined;
const answer = (result: string) => {
  const text = `{"jsonrpc":"2.0","id":1,"result":${result}}`;
  const bytes = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  return [bytes, bytes] as const;
};

export const hubAnswers = target<Answers>({
  name: 'hub-answers',
  promise: 'an answer of the hub is refused with HUB_UNREACHABLE, or is a tree whose databases can be named',
  runs: 1_500,
  shortRuns: 75,
  inputs: answers,
  check: async (both) => {
    peer ??= RawPeer.open();
    const raw = await peer;
    const hub = createHubClient({ hosts: [{ host: '127.0.0.1', port: raw.port }], timeoutMs: 20_000 });
    for (const bytes of both) {
      raw.answer = bytes;
      const found = await outcome(() => hub.fetchConfigs(), ['HUB_UNREACHABLE']);
      if ('value' in found) checkTree(found.value);
      else assert.doesNotMatch(found.refused.message, /did not answer within/);
    }
  },
  growing: {
    nesting: (length) => answer(`${'['.repeat(length)}${']'.repeat(length)}`),
    'nested objects': (length) => answer(`${'{"a":'.repeat(length)}0${'}'.repeat(length)}`),
    coins: (length) =>
      answer(
        `{${Array.from({ length: length / 40 }, (_, at) => `"c${at}":${JSON.stringify(CONFIGS.litecoin)}`).join(',')}}`
      ),
    modules: (length) => {
      const modules = Array.from({ length: length / 40 }, (_, at) => `"${at}-indexer":{"name":"x"}`);
      return answer(`{"a":{"b":{${modules.join(',')}}}}`);
    },
    'an error': (length) => {
      const text = `{"error":{"message":"${'x'.repeat(length)}"}}`;
      const bytes = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
      return [bytes, bytes];
    }
  },
  close: async () => {
    await (await peer)?.close();
    peer = undefined;
  }
});
