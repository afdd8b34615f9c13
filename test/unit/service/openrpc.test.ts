import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as standard from '@open-rpc/meta-schema';
import { Ajv } from 'ajv';
import type { FastifyInstance } from 'fastify';
import { Compile } from 'typebox/compile';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { createDecoderApp } from '../../../src/decoder/app.ts';
import type { DecoderView } from '../../../src/decoder/health.ts';
import { createHubApp } from '../../../src/hub/app.ts';
import { openHubDatabase } from '../../../src/hub/store/database.ts';
import { PriceStream } from '../../../src/hub/stream/price-stream.ts';
import { silentLogger } from '../../../src/log.ts';
import { NO_ACTORS } from '../../../src/service/life/no-actors.ts';
import type { OpenRpc } from '../../../src/service/rpc/openrpc.ts';
import { definitionOf, FRAME_CONFIG } from '../../support/frame.ts';

/** The standard's own schema, with JSON Schema draft 7 in the place of the one that it names by URL. */
const isOpenRpc = (() => {
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema({
    $id: 'https://meta.json-schema.tools/',
    $ref: 'http://json-schema.org/draft-07/schema#',
    definitions: { JSONSchemaObject: { properties: { $ref: { type: 'string' } } } }
  });
  const text = JSON.stringify((standard as Readonly<Record<string, unknown>>)['openrpcDocument']).replaceAll(
    '"https://meta.json-schema.tools"',
    '"https://meta.json-schema.tools/"'
  );
  return ajv.compile({ ...JSON.parse(text), $schema: 'http://json-schema.org/draft-07/schema#' });
})();

const report = {
  state: 'parsing.caughtUp',
  isDatabaseReachable: true,
  lastProcessedBlock: 99,
  nodeHeight: 100,
  nodePolledAt: 0,
  progressAt: 0,
  failures: 0,
  rpcErrors: 0,
  parseErrors: 0,
  haltReason: null
};
const view: DecoderView = { report, crash: null };
const decoder = createDecoderApp({
  ...definitionOf(),
  config: {
    ...FRAME_CONFIG,
    DECODER_API_KEY: undefined,
    DECODER_RATE_LIMIT_RPM: 1_000,
    DECODER_STALL_ALERT_MS: 1_000,
    DECODER_STALL_FETCH_ATTEMPTS: 20
  },
  view: () => view,
  serves: (code) => code === 'LTC'
});
/** It is never entered: what its methods answer is asked of a real one, in test/integration/hub. */
const database = openHubDatabase(
  { host: '127.0.0.1', port: 9, name: 'hub', user: 'u', pass: 'p' },
  { log: silentLogger }
);
const hub = createHubApp({
  ...definitionOf(),
  clockOffMs: () => 0,
  set: null,
  config: {
    ...FRAME_CONFIG,
    HUB_API_KEY: ['k'],
    HUB_RATE_LIMIT_RPM: 1_000,
    CORS_ORIGIN: ['https://console.example'],
    HUB_DB_NAME: 'hub',
    HUB_SENSITIVE_READ_AUTH: false,
    HUB_PUSH_AUTH: false,
    HUB_UNTRUSTED_RETENTION_DAYS: 0,
    HUB_HISTORY_RETENTION_DAYS: 0,
    GOV_VOTING_PERIOD: 1_000,
    TELEMETRY_ENABLED: true,
    TELEMETRY_RETENTION_DAYS: 90,
    TELEMETRY_IP_SALT: undefined,
    TELEMETRY_ADMIN_KEY: undefined,
    PRICE_SOURCES: undefined,
    ORACLE_ROUND_INTERVAL: 600_000,
    ORACLE_STALENESS_THRESHOLD_S: undefined,
    PLATFORM_PROFILE: DEFAULT_PROFILE,
    HUB_CAPABILITY_CONFIG: {}
  },
  database,
  actors: NO_ACTORS,
  stream: new PriceStream(database, silentLogger, { sends: 50, bytes: 1_000_000 }),
  placeOf: () => ({ country: null, region: null }),
  serves: (code) => code === 'LTC'
});

const HUB_METHODS =
  'ping health getallconfigs updateconfig getvalidators getvalidatorstatus getvalidatorcapabilities getcapabilitythresholds registervalidator rotatevalidator deregistervalidator syncvalidators pushvalidatorrewards getchaintips pushchaintip getprice getpricesnapshots getfeequote pushpriceround pushoracleprice pushpricereorg requestattestation initiateswap getattestations getattestation getswaps getswap reportreorg getreorghistory propose vote getproposals getproposal getvotes getoraclesubmissions getattestationstats getcrosschaincallstats getcrosschaincall getxcall listxcall getcheckpointstats getslashproposals anchorflush proposeslashpenalty pauseeffectorspend resumeeffectorspend pushxcallreorg pushdexreorg getanchorstatus getoraclepublisherstatus geteffectorspendstatus';

for (const [name, app, methods] of [
  ['hub', hub, HUB_METHODS.split(' ').sort()],
  ['decoder', decoder, ['getlatestblock', 'health', 'ping']]
] as const satisfies readonly (readonly [string, FastifyInstance, readonly string[]])[]) {
  describe(`OpenRPC of the ${name}`, async () => {
    const document: OpenRpc = (await app.inject('/openrpc.json')).json();
    const call = async (method: string, params: object = {}) => {
      const payload = { jsonrpc: '2.0', id: 1, method, params };
      const answer = await app.inject({ method: 'POST', url: '/', payload, headers: { 'x-api-key': 'k' } });
      return answer.json();
    };

    test('is OpenRPC 1.3.2 by the schema of the standard, and names every method', () => {
      assert.ok(isOpenRpc(document), JSON.stringify(isOpenRpc.errors?.slice(0, 3)));
      assert.equal(document.openrpc, '1.3.2');
      assert.deepEqual(document.methods.map((method) => method.name).sort(), methods);
      assert.ok(
        !isOpenRpc({ ...document, methods: [{ name: 'nameless params' }] }),
        'the schema refuses what is wrong'
      );
    });

    test('is the same by rpc.discover and under the code of a network', async () => {
      assert.deepEqual((await call('rpc.discover')).result, document);
      assert.deepEqual((await app.inject('/LTC/openrpc.json')).json(), document);
      assert.equal((await app.inject('/DOGE/openrpc.json')).statusCode, 404);
    });
  });
}

test('each method of the decoder answers as its result schema says', async () => {
  const { methods }: OpenRpc = (await decoder.inject('/openrpc.json')).json();
  for (const { name: method, result } of methods) {
    const reply = (
      await decoder.inject({ method: 'POST', url: '/', payload: { jsonrpc: '2.0', id: 1, method } })
    ).json();
    assert.ok(Compile(result.schema).Check(reply.result), `${method} ${JSON.stringify(reply)}`);
  }
});
