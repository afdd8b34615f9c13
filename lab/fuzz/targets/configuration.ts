import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describeConfig } from '../../../src/config/describe.ts';
import { type Checks, loadConfig } from '../../../src/config/load.ts';
import { decoderChecks, decoderVariables } from '../../../src/config/services/decoder.ts';
import { HUB_PATTERNS, hubVariables } from '../../../src/config/services/hub.ts';
import { findSyncFaults, syncVariables } from '../../../src/config/services/sync.ts';
import type { Variables } from '../../../src/config/variables.ts';
import { createAddressReader } from '../../../src/service/callers/address.ts';
import { hostileJson, hostileText, jsonLike, ODD_NUMBERS } from '../support/hostile.ts';
import { outcome, target } from '../support/target.ts';

const SECRET = 's3cret-s3cret';

interface Service {
  readonly variables: Variables;
  readonly checks: Checks<Variables>;
  readonly usual: Readonly<Record<string, string>>;
}

const SERVICES: Readonly<Record<string, Service>> = {
  sync: {
    variables: syncVariables,
    checks: {
      prefixes: ['SYNC_'],
      findFaults: findSyncFaults as unknown as NonNullable<Checks<Variables>['findFaults']>
    },
    usual: {
      SYNC_MODE: 'client',
      HUB_API_HOST: 'h',
      SYNC_SOURCES: 'http://a:1,https://b',
      REPLICA_DB_HOST: 'h',
      REPLICA_DB_USER: 'u',
      SYNC_BOOTSTRAP_DEPTH_DOGE_MAINNET: '5'
    }
  },
  decoder: {
    variables: decoderVariables,
    checks: decoderChecks as unknown as Checks<Variables>,
    usual: {
      NETWORK: 'litecoin-regtest',
      NODE_USER: 'u',
      DECODER_DB_HOST: 'h',
      DECODER_DB_NAME: 'n',
      DECODER_DB_USER: 'u'
    }
  },
  hub: {
    variables: hubVariables,
    checks: { prefixes: ['HUB_'], patterns: HUB_PATTERNS },
    usual: { HUB_DB_HOST: 'h', HUB_DB_PORT: '3306', HUB_DB_NAME: 'n', HUB_DB_USER: 'u' }
  }
};
const NAMES = Object.fromEntries(
  Object.entries(SERVICES).map(([name, { variables }]) => [name, Object.keys(variables)])
);
const ODD_NAMES = [
  'SYNC_MOED',
  'SYNC_SUBSCRIBE_X_Y',
  'SYNC_BOOTSTRAP_DEPTH__',
  '__proto__',
  'constructor',
  'HUB_',
  'DECODER_É'
];

const PINNED = [{ pubkey: 'ab'.repeat(32), weight: 1, source: 'a' }];
const values = fc.oneof(
  hostileText,
  fc.constantFrom(...ODD_NUMBERS),
  fc.constantFrom(
    'true',
    'TRUE',
    'tcp://10.0.0.1:3306',
    'http://a:3006/x?y#z',
    'http://u:p@h',
    'ftp://x',
    'a,b,,c',
    '10.0.0.0/99',
    'server'
  ),
  jsonLike(fc.constant(PINNED))
);

interface Start {
  readonly service: string;
  readonly env: Readonly<Record<string, string>>;
  /** config.json, as text. */
  readonly file: string;
}

const starts = fc.constantFrom(...Object.keys(SERVICES)).chain((service) => {
  const names = fc.constantFrom(...NAMES[service]!, ...NAMES[service]!, ...ODD_NAMES);
  const env = fc.array(fc.tuple(names, values), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs));
  const file = fc.array(
    fc.tuple(
      names,
      fc.oneof(
        hostileJson,
        values.map((text) => JSON.stringify(text))
      )
    ),
    { maxLength: 3 }
  );
  const text = file.map((pairs) => `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`);
  return fc.record({ service: fc.constant(service), env, file: text });
});

export const configuration = target<Start>({
  name: 'configuration',
  promise:
    'settings are refused with CONFIG_INVALID, each wrong one by its name, or are within their bounds; no secret is shown',
  runs: 5_000,
  shortRuns: 750,
  inputs: starts,
  check: async ({ service, env, file }) => {
    const { variables, checks, usual } = SERVICES[service]!;
    const secrets = Object.entries(variables).filter(([, { secret }]) => secret);
    const given = { ...usual, ...env, ...Object.fromEntries(secrets.map(([name]) => [name, SECRET])) };
    const load = () =>
      loadConfig(variables, { env: given, file: JSON.parse(file) as Record<string, unknown>, ...checks });
    const found = await outcome(load, ['CONFIG_INVALID'], 100_000);
    if ('refused' in found) return assert.ok(!found.refused.message.includes(SECRET), 'a secret is shown');
    const { values: read, warnings } = found.value as { values: Record<string, unknown>; warnings: readonly string[] };
    assert.ok(!describeConfig(variables, found.value as never).includes(SECRET), 'a secret is shown');
    for (const [name, value] of Object.entries(read)) {
      if (typeof value === 'number') assert.ok(Number.isSafeInteger(value) && value >= 0, `${name}=${value}`);
    }
    for (const warning of warnings) assert.match(warning, /^unknown (variable|name) /);
    if (read['TRUST_PROXY'])
      await outcome(() => createAddressReader(read['TRUST_PROXY'] as string[]), ['CONFIG_INVALID']);
  },
  growing: {
    'a list': (length) => ({ service: 'sync', env: { SYNC_EXCLUDE: 'a:b:c,'.repeat(length / 6) }, file: '{}' }),
    spaces: (length) => ({ service: 'sync', env: { SYNC_SOURCES: `${' '.repeat(length)}x` }, file: '{}' }),
    'a URL': (length) => ({ service: 'sync', env: { SYNC_SOURCES: `http://a${'/'.repeat(length)}x` }, file: '{}' }),
    'a word': (length) => ({ service: 'sync', env: { LOG_LEVEL: 'x'.repeat(length) }, file: '{}' }),
    'an unknown name': (length) => ({ service: 'sync', env: { [`SYNC_${'X'.repeat(length / 100)}`]: 'x' }, file: '{}' })
  }
});
