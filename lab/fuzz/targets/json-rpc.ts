import assert from 'node:assert/strict';
import fc from 'fast-check';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { hubMethods } from '../../../src/hub/methods/all.ts';
import type { HubDatabase } from '../../../src/hub/store/database.ts';
import { pageOfRows } from '../../../src/hub/store/row-page.ts';
import { type RunStatement, runStatement } from '../../../src/hub/store/statements.ts';
import { openRpc } from '../../../test/support/frame.ts';
import { hostileJson, hostileText, jsonLike, mutatedText } from '../support/hostile.ts';
import { target } from '../support/target.ts';

const KEY = 'k3y-of-the-writer';
const PARAMS = ['host', 'port', 'service_port', 'db_host', 'db_port', 'name', 'user', 'pass'];
const config = {
  litecoin: { mainnet: { 'platform-indexer': { db_host: 'h', db_port: 3306, pass: 'p', user: null } } }
};
const call = (method: string, params: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });

const specimens = fc.oneof(
  fc.constantFrom<unknown>(
    call('ping', []),
    call('GetAllConfigs', { since_updated_at: 5 }),
    call('health', {}, 'text'),
    [call('ping', {}), { jsonrpc: '2.0', method: 'ping' }, call('updateconfig', { config })]
  ),
  fc.tuple(hostileText, hostileText, hostileText).map(([coin, network, module]) =>
    call('updateconfig', {
      config: { [coin]: { [network]: { [module]: config.litecoin.mainnet['platform-indexer'] } } }
    })
  )
);

interface Post {
  readonly body: string;
  readonly key: string | null;
  readonly type: string;
}

/** The statement that has an answer without any row. */
const CLOCK = 'SELECT UNIX_TIMESTAMP() AS now';

/** The hub's methods over a database that takes every statement and holds no row; `written` is what statements wrote. */
const open = async () => {
  const written: unknown[] = [];
  const connection = {
    query: async (statement: string | { readonly sql: string }, values: readonly unknown[] = []) => {
      if (typeof statement !== 'string') return [statement.sql === CLOCK ? [{ now: 1_700_000_000 }] : []];
      if (statement.startsWith('INSERT INTO configs')) checkEntries(values[0] as unknown[][]);
      written.push(values);
      return [{ affectedRows: 0 }];
    }
  };
  const run: RunStatement = (name, ...given) =>
    runStatement(connection as unknown as Parameters<typeof runStatement>[0], name, given);
  const database: HubDatabase = {
    isReady: () => true,
    probe: async () => true,
    circuit: () => 'closed',
    takesWrites: () => true,
    read: run,
    readOnce: run,
    write: run,
    push: run,
    survey: run,
    page: async (name, ...given) => pageOfRows(await run(name, ...given))
  };
  const settings = {
    HUB_API_KEY: undefined,
    HUB_SENSITIVE_READ_AUTH: false,
    HUB_PUSH_AUTH: true,
    GOV_VOTING_PERIOD: 1_000,
    PRICE_SOURCES: undefined,
    ORACLE_ROUND_INTERVAL: 600_000,
    ORACLE_STALENESS_THRESHOLD_S: undefined,
    PLATFORM_PROFILE: DEFAULT_PROFILE,
    HUB_CAPABILITY_CONFIG: {}
  };
  const silent = async () => null;
  const facts = {
    confirmationsOf: silent,
    actionAt: async () => null,
    hasReorganised: async () => null,
    hasBlock: silent,
    stakeOf: silent,
    hasRound: silent,
    waitingTransaction: silent,
    indexersAnswer: async () => []
  };
  const methods = hubMethods(database, settings, { onChange: () => undefined, set: null, clockOffMs: () => 0 }, facts);
  return { app: openRpc({ methods, requestsPerMinute: 1e9 }, { keys: { readers: [KEY] } }), written };
};

function checkEntries(entries: readonly unknown[][]): void {
  for (const [coin, network, module, param, value] of entries) {
    for (const name of [coin, network, module]) assert.match(String(name), /^[A-Za-z0-9_-]{1,64}$/);
    assert.ok(PARAMS.includes(String(param)) && typeof value === 'string' && value.length <= 1_024);
  }
}

let service: ReturnType<typeof open> | undefined;

/** One answer of the protocol. @see https://www.jsonrpc.org/specification, section 5 */
function checkReply(reply: Record<string, unknown>): void {
  assert.equal(reply['jsonrpc'], '2.0');
  assert.ok('id' in reply && 'result' in reply !== 'error' in reply, JSON.stringify(reply).slice(0, 200));
  if (!('error' in reply)) return;
  const { code, message, data } = reply['error'] as { code: number; message: string; data?: { code: string } };
  assert.ok(code !== -32603 || !['INTERNAL', undefined].includes(data?.code), message);
  assert.ok([-32700, -32600, -32601, -32602, -32603, -32001, -32010, -32029].includes(code), `${code} ${message}`);
  assert.ok(message.length < 4_000);
}

const post = (body: string): Post => ({ body, key: KEY, type: 'application/json' });

export const jsonRpcCalls = target<Post>({
  name: 'json-rpc',
  promise: 'a call of the hub or decoder gets the answers of JSON-RPC 2.0, and nothing is written without the key',
  runs: 3_000,
  shortRuns: 350,
  inputs: fc.record({
    body: fc.oneof(
      { weight: 4, arbitrary: jsonLike(specimens) },
      mutatedText(specimens.map((value) => JSON.stringify(value))),
      hostileJson
    ),
    key: fc.constantFrom(KEY, null, `${KEY} `, ''),
    type: fc.constantFrom(
      'application/json',
      'application/json',
      'application/json-rpc',
      'text/plain',
      'application/json; charset=x'
    )
  }),
  check: async ({ body, key, type }) => {
    service ??= open();
    const { app, written } = await service;
    written.length = 0;
    const headers = { 'content-type': type, ...(key === null ? {} : { 'x-api-key': key }) };
    const answer = await app.inject({ method: 'POST', url: '/', headers, payload: body });
    assert.ok([200, 204, 400, 401, 413, 415].includes(answer.statusCode), `${answer.statusCode} ${answer.body}`);
    if (key !== KEY) assert.deepEqual(written, []);
    if (answer.statusCode === 204) return assert.equal(answer.body, '');
    const replies = answer.json() as Record<string, unknown> | Record<string, unknown>[];
    for (const reply of Array.isArray(replies) ? replies : [replies]) checkReply(reply);
  },
  growing: {
    nesting: (length) => post(`${'['.repeat(Math.min(length, 900_000))}`),
    'nested parameters': (length) =>
      post(
        `{"jsonrpc":"2.0","method":"ping","params":${'['.repeat(Math.min(length, 400_000))}${']'.repeat(Math.min(length, 400_000))}}`
      ),
    'a batch': (length) => post(`[${'1,'.repeat(Math.min(length, 900_000) / 2)}1]`),
    'a method': (length) => post(JSON.stringify(call('x'.repeat(Math.min(length, 900_000)), {}))),
    entries: (length) => {
      const modules = Array.from({ length: Math.min(length, 900_000) / 40 }, (_, at) => [`m${at}`, { name: 'x' }]);
      return post(JSON.stringify(call('updateconfig', { config: { a: { b: Object.fromEntries(modules) } } })));
    }
  },
  close: async () => {
    await (await service)?.app.close();
    service = undefined;
  }
});
