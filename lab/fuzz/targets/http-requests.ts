import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { InjectOptions } from 'fastify';
import { type FrontDoor, openFrontDoor } from '../../../test/support/sync/front-door.ts';
import { ANSWERS } from '../support/actor-answers.ts';
import { checkForm } from '../support/answer-form.ts';
import { hostileText, ODD_NUMBERS } from '../support/hostile.ts';
import { pieces } from '../support/pieces.ts';
import { target } from '../support/target.ts';

const KEY = 'k3y-of-the-operator';
const OPEN = /^\/(?:livez|readyz|openapi\.json|docs)?(?:\?|$)/;

const ROUTES = pieces(
  `/status || /status/I || /health || /catalog || /schema/I || /snapshot/I || /snapshot/I/since/N ||
/snapshot-rows/I/T || /snapshot-dispensers/D || /checkpoint/I/latest || /checkpoint/I/N || /digest/I ||
/digest/I/key || /digest/I/challenge/abababababababababababababababab ||
/transparency/I/roots || /livez || /transparency/I/epochs || /transparency/I/proof/N ||
/transparency/I/root/latest || /subscribe/I || /readyz || /metrics || /validator-heartbeat/I ||
/validator-status || /validator-status/I || /halt/clear/I || /debug/actors || /debug/live || / ||
/debug/actors/I/kill || /openapi.json || /docs || /console/x.js || /nowhere`
);
const PARAMETERS = pieces(
  `until || skip_lookups || lookups || sync_mode || table || key || from || to || block || rows || settled || after_id ||
limit || page || after || __proto__ || constructor || table[] || a.b`
);
const HEADERS = pieces(
  `range || if-range || if-none-match || accept-encoding || x-forwarded-for || content-type || traceparent ||
tracestate || sec-websocket-protocol || sec-websocket-key || upgrade || connection || origin ||
access-control-request-method || host || content-length || transfer-encoding || expect || accept || cookie ||
authorization || __proto__ || x-http-method-override`
);
const VALUES = [
  ...pieces(`bytes=0- || bytes=-5 || bytes=5-2 || bytes=0-1,4-5 || * || "tag" || W/"tag" || gzip;q=1.001 || zstd, gzip;q=0 ||
1 || 0 || -1 || infra-only || full || index_actions ||
index_actions:5:abababababababababababababababababababababababababababababababab || websocket ||
application/json || https://a.example || 10.1.2.3, 192.0.2.1 || ::1 || platform-sync.v1 || Bearer x || POST || abababababababababababababababab ||
00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-01 || 100-continue`),
  `bearer.${Buffer.from('x').toString('base64url')}`,
  `Bearer ${KEY}x`,
  `bearer ${KEY.toUpperCase()}`,
  `Bearer ${KEY} ${KEY}`
];

const text = fc.oneof(hostileText, fc.constantFrom<string>(...VALUES), fc.constantFrom<string>(...ODD_NUMBERS));
const encoded = fc.oneof(
  { weight: 4, arbitrary: text.map((value) => encodeURIComponent(value.toWellFormed())) },
  text.map((value) => value.replaceAll(/[^\x21-\x7e]|[#?]/g, '%0a'))
);
const mostly = (usual: string) => fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, encoded);

const path = fc
  .tuple(
    fc.constantFrom(...ROUTES),
    mostly('indexer'),
    mostly('bitcoin'),
    mostly('regtest'),
    mostly('index_actions'),
    fc.oneof(mostly('5'), encoded)
  )
  .map(([route, dbType, chain, network, table, height]) =>
    route
      .replace(/\/[ID]\b/, (which) => `/${which === '/D' ? 'decoder' : dbType}/${chain}/${network}`)
      .replace(/\/T\b/, () => `/${table}`)
      .replace(/\/N\b/, () => `/${height}`)
  );
const query = fc
  .array(fc.tuple(fc.constantFrom(...PARAMETERS), encoded), { maxLength: 4 })
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&'));
/** Bytes that Node lets through in a header's value. */
const headerValue = text.map((value) =>
  Buffer.from(value)
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '')
);

interface Asked {
  readonly method: NonNullable<InjectOptions['method']>;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly from: number;
  readonly keyed: boolean;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE'),
  url: fc.tuple(path, query).map(([before, after]) => (after === '' ? before : `${before}?${after}`)),
  headers: fc
    .array(fc.tuple(fc.constantFrom(...HEADERS), headerValue), { maxLength: 4 })
    .map((pairs) => Object.fromEntries(pairs)),
  from: fc.nat(2 ** 24 - 1),
  keyed: fc.boolean()
});

const open = async (): Promise<{ readonly open: FrontDoor; readonly keyed: FrontDoor }> => {
  const config = { TRUST_PROXY: ['10.0.0.0/8'], CORS_ORIGINS: ['https://a.example'] };
  return {
    open: await openFrontDoor({ config, answers: ANSWERS }),
    keyed: await openFrontDoor({ config: { ...config, SYNC_API_KEY: KEY }, answers: ANSWERS })
  };
};
let frontDoors: ReturnType<typeof open> | undefined;

const get = (url: string, headers: Readonly<Record<string, string>> = {}): Asked => ({
  method: 'GET',
  url,
  headers,
  from: 5,
  keyed: false
});

export const httpRequests = target<Asked>({
  name: 'http-requests',
  promise: 'a request is answered as documented, never by a failure of ours, and not at all without the key',
  runs: 4_000,
  shortRuns: 500,
  inputs: asked,
  check: async ({ method, url, headers, from, keyed }) => {
    frontDoors ??= open();
    const { app, acts } = (await frontDoors)[keyed ? 'keyed' : 'open'];
    const remoteAddress = `10.${(from >> 16) & 255}.${(from >> 8) & 255}.${from & 255}`;
    const answer = await app.inject({ method, url, headers, remoteAddress });
    checkForm(answer);
    assert.deepEqual(acts, [], 'an operator alone acts');
    const preflight = method === 'OPTIONS' && headers['origin'] !== undefined;
    // Of an upgrade from a page of elsewhere, or by a public name, that is said first.
    const refusals = headers['upgrade'] === undefined ? [401, 421] : [401, 403, 421];
    if (keyed && !OPEN.test(url) && !preflight) assert.ok(refusals.includes(answer.statusCode), `${answer.statusCode}`);
    for (const value of Object.values(answer.headers)) assert.doesNotMatch(String(value), /[\r\n]/);
  },
  growing: {
    parameters: (length) => get(`/snapshot/indexer/bitcoin/regtest?${'a=1&'.repeat(Math.min(length, 60_000) / 4)}`),
    lookups: (length) =>
      get(`/snapshot/indexer/bitcoin/regtest/since/1?lookups=${'a:1:b,'.repeat(Math.min(length, 14_000) / 6)}`),
    'a path': (length) => get(`/${'a/'.repeat(Math.min(length, 60_000) / 2)}`),
    codings: (length) =>
      get('/snapshot-dispensers/decoder/bitcoin/regtest', {
        'accept-encoding': 'gzip;q=0.1,'.repeat(Math.min(length, 60_000) / 11)
      }),
    tags: (length) =>
      get('/snapshot/indexer/bitcoin/regtest', { 'if-none-match': 'W/"a",'.repeat(Math.min(length, 60_000) / 6) }),
    hops: (length) =>
      get('/digest/indexer/bitcoin/regtest', { 'x-forwarded-for': '10.0.0.1,'.repeat(Math.min(length, 60_000) / 9) }),
    spaces: (length) => get('/status', { authorization: `Bearer ${' '.repeat(Math.min(length, 60_000))}` })
  },
  close: async () => {
    if (!frontDoors) return;
    const opened = await frontDoors;
    frontDoors = undefined;
    await Promise.all([opened.open.app.close(), opened.keyed.app.close()]);
  }
});
