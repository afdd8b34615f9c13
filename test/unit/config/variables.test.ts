import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findUnknownNames } from '../../../src/cli/config-names.ts';
import { readConfigFile } from '../../../src/config/config-file.ts';
import { describeConfig, helpTable } from '../../../src/config/describe.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { nearest } from '../../../src/config/nearest.ts';
import { readSecretFiles } from '../../../src/config/secret-files.ts';
import { syncVariables } from '../../../src/config/services/sync.ts';
import {
  choice,
  flag,
  integer,
  list,
  perChain,
  port,
  readBaseUrl,
  text,
  type Variables
} from '../../../src/config/variables.ts';
import { PlatformError } from '../../../src/errors.ts';
import { loadServices } from '../../../src/services.ts';
import fc from '../../support/fast-check.ts';

const VARIABLES = {
  MODE: choice(['server', 'client'], { required: true, doc: 'which side' }),
  PORT: port({ default: 3006, doc: 'where' }),
  SIZE: integer({ default: 5, min: 2, max: 9, doc: 'how many' }),
  READONLY: flag({ default: false, doc: 'no writes' }),
  KEY: text({ doc: 'who', secret: true }),
  SOURCES: list(readBaseUrl, { doc: 'from where' })
} as const;

function faultsOf(env: Record<string, string>): string[] {
  try {
    loadConfig(VARIABLES, { env });
    return [];
  } catch (caught) {
    assert.ok(caught instanceof PlatformError && caught.code === 'CONFIG_INVALID');
    return String(caught.detail['reason']).split('\n');
  }
}

test('variables of the environment that are near known ones are named; those of other services are not', () => {
  const variables = {
    DECODER_API_PORT: text({ doc: 'x' }),
    TRUST_PROXY: text({ doc: 'x' }),
    NODE_PORT: text({ doc: 'x' })
  };
  const { warnings } = loadConfig(variables, {
    prefixes: ['DECODER_'],
    env: { TRUST_PROXI: '1', ENCODER_API_PORT: '1', NODE_PATH: '/x', DECODER_ANYTHING: '1', HOME: '/' }
  });
  assert.deepEqual(warnings, [
    'unknown variable TRUST_PROXI; did you mean TRUST_PROXY?',
    'unknown variable DECODER_ANYTHING; did you mean DECODER_API_PORT?'
  ]);
});

test('CONFIG_INVALID: a misspelt name in the configuration file; others that no command knows are named', async () => {
  assert.deepEqual(await findUnknownNames(), []);
  const file = {
    HUB_HOST: 'x',
    SYNC_SUBSCRIBE_LTC_MAINNET: 'full',
    DECODER_DB_PASS_FILE: 'x',
    CO: 1,
    DECODER_OF_OLD: 1
  };
  assert.deepEqual(
    (await findUnknownNames(file)).map((line) => line.split(';', 1)[0]),
    ['unknown name CO in the configuration file', 'unknown name DECODER_OF_OLD in the configuration file']
  );
  for (const [wrong, meant] of [
    ['SYNC_API_KEYY', 'SYNC_API_KEY'],
    ['trust_proxy', 'TRUST_PROXY'],
    ['HUB_API_KEY_FIEL', 'HUB_API_KEY_FILE']
  ] as const)
    await assert.rejects(findUnknownNames({ [wrong]: 'x' }), {
      code: 'CONFIG_INVALID',
      message: new RegExp(`^unknown name ${wrong} in the configuration file; did you mean ${meant}\\?`)
    });
});

test('a secret may stand in a file: that of NAME_FILE, else the systemd credential; both after the environment', () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-secrets-'));
  try {
    const path = join(directory, 'key-of-a-file');
    writeFileSync(path, 'of a file \n');
    writeFileSync(join(directory, 'KEY'), 'of systemd\r\n');
    const load = (env: Record<string, string>, file: Record<string, unknown> = {}) => {
      const all = { MODE: 'server', ...env };
      const { values, origins, warnings } = loadConfig(VARIABLES, {
        env: all,
        file,
        secrets: readSecretFiles(VARIABLES, all, file),
        prefixes: ['KEY']
      });
      assert.deepEqual(warnings, []);
      return [values.KEY, origins['KEY']];
    };
    const credentials = { CREDENTIALS_DIRECTORY: directory };
    assert.deepEqual(load({ KEY_FILE: path, ...credentials }), ['of a file ', 'secret file']);
    assert.deepEqual(load(credentials, { KEY: 'of the file' }), ['of systemd', 'secret file']);
    assert.deepEqual(load({ KEY: 'own', ...credentials }), ['own', 'environment']);
    assert.deepEqual(load({}, { KEY_FILE: path }), ['of a file ', 'secret file']);
    assert.deepEqual(load({ KEY: 'own' }, { KEY_FILE: path }), ['own', 'environment']);
    assert.throws(() => load({ KEY: 'own', KEY_FILE: path }), { message: /^KEY and KEY_FILE are both set/ });
    assert.throws(() => load({}, { KEY: 'own', KEY_FILE: path }), { message: /^KEY and KEY_FILE are both set/ });
    assert.throws(() => load({ KEY_FILE: '/nowhere' }), {
      message: /^KEY_FILE=\/nowhere must name a readable file: ENOENT/
    });
    writeFileSync(path, '\n');
    assert.throws(() => load({ KEY_FILE: path }), { message: /must name a file that is not empty/ });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('every secret of every service may stand in a file', async () => {
  for (const { command, variables } of await loadServices()) {
    const names = Object.entries(variables).filter(([, { secret }]) => secret);
    assert.ok(names.length > 0, command);
    for (const [name] of names) {
      const found = readSecretFiles(variables, { [`${name}_FILE`]: '/nowhere' }, {});
      assert.deepEqual(Object.keys(found), [name], command);
    }
  }
});

test('property: a whole number is taken exactly when it lies within its bounds', () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: -20, max: 20 }).map(String), fc.string()), (value) => {
      const trimmed = value.trim();
      const good = /^\d+$/.test(trimmed) && trimmed.length <= 16 && Number(trimmed) >= 2 && Number(trimmed) <= 9;
      const faults = faultsOf({ MODE: 'server', SIZE: value });
      assert.equal(faults.length, good || trimmed === '' ? 0 : 1);
      if (good)
        assert.equal(loadConfig(VARIABLES, { env: { MODE: 'server', SIZE: value } }).values.SIZE, Number(trimmed));
    })
  );
});

test('a family of variables: every member that is set, by the words in its name; a wrong one is faulted by its own name', () => {
  const family = { 'DEPTH_<CHAIN>_<NETWORK>': perChain(integer({ min: 1, doc: 'how deep' })) } as const;
  const prefixes = ['DEPTH_'];
  const file = { DEPTH_LTC_TESTNET: 7, DEPTH_DOGE_MAINNET: 9 };
  const { values, warnings, origins } = loadConfig(family, {
    env: { DEPTH_DOGE_MAINNET: '5', DEPTH_X: '1' },
    file,
    prefixes
  });
  assert.deepEqual(values['DEPTH_<CHAIN>_<NETWORK>'], [
    { variable: 'DEPTH_DOGE_MAINNET', chain: 'DOGE', network: 'MAINNET', value: 5 },
    { variable: 'DEPTH_LTC_TESTNET', chain: 'LTC', network: 'TESTNET', value: 7 }
  ]);
  assert.deepEqual(warnings.length, 1, 'DEPTH_X is no member');
  assert.equal(origins['DEPTH_<CHAIN>_<NETWORK>'], 'config file');
  assert.match(helpTable(family), /DEPTH_<CHAIN>_<NETWORK> +unset +how deep/);
  assert.throws(() => loadConfig(family, { env: { DEPTH_DOGE_MAINNET: '0' } }), /DEPTH_DOGE_MAINNET="0" must be/);
});

test('property: each wrong variable is faulted, by name, and no other', () => {
  const wrong: Readonly<Record<string, string>> = {
    MODE: 'both',
    PORT: '65536',
    SIZE: '10',
    READONLY: 'maybe',
    SOURCES: 'x'
  };
  fc.assert(
    fc.property(fc.subarray(Object.keys(wrong)), (names) => {
      const env = Object.fromEntries(names.map((name) => [name, wrong[name]!]));
      const faults = faultsOf({ MODE: 'server', ...env });
      assert.deepEqual(faults.map((fault) => fault.split('=', 1)[0]).sort(), [...names].sort());
    })
  );
});

test('every setting of every service: what is wrong with it is told by its name, and every fault names one', async () => {
  const bad = ['x y', '-1', '{', 'a,b', 'http://', '10.0.0.0/99', '99999999999999999999', 'é'];
  for (const { variables } of await loadServices()) {
    for (const family of Object.keys(variables)) {
      const name = family.replace('<CHAIN>', 'BTC').replace('<NETWORK>', 'MAINNET');
      for (const value of bad) {
        let faults: string[] = [];
        try {
          loadConfig<Variables>(variables, { env: { [name]: value } });
        } catch (caught) {
          faults = String((caught as PlatformError).detail['reason']).split('\n');
        }
        const others = faults.filter((fault) => !fault.startsWith('missing required environment variable '));
        for (const fault of others) assert.ok(fault.startsWith(`${name}=`), `${name}=${value}: ${fault}`);
      }
    }
  }
  assert.throws(() => loadConfig(syncVariables, { env: { SYNC_MODE: 'server', TRUST_PROXY: '10.0.0.0/33' } }), {
    message: /^TRUST_PROXY="10\.0\.0\.0\/33" must be addresses or subnets/
  });
});

test('a name that is nearly that of a setting is told by every service, whichever setting it is', async () => {
  for (const { command, variables, checks } of await loadServices()) {
    const { findFaults: _, ...rules } = checks;
    const optional = Object.fromEntries(
      Object.entries(variables).map(([name, variable]) => [name, { ...variable, required: false }])
    ) as Variables;
    for (const name of Object.keys(variables).filter((each) => !each.includes('<'))) {
      const wrong = `${name.slice(0, -1)}${name.endsWith('X') ? 'Y' : 'X'}`;
      if (Object.hasOwn(variables, wrong) || wrong.length < 8) continue; // short names resemble many
      const { warnings } = loadConfig(optional, { ...(rules as object), env: { [wrong]: '1' } });
      assert.ok(warnings[0]?.startsWith(`unknown variable ${wrong}; did you mean `), `${command}: ${wrong}`);
    }
  }
});

test('property: a secret is in no fault, no description and no help', () => {
  const secretive = {
    ...VARIABLES,
    PIN: { ...integer({ doc: 'pin', secret: true }), parse: () => assert.fail('must be a pin') }
  };
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9]{12,20}$/), (secret) => {
      const loaded = loadConfig(VARIABLES, { env: { MODE: 'server', KEY: secret } });
      assert.doesNotMatch(describeConfig(VARIABLES, loaded) + helpTable(VARIABLES), new RegExp(secret));
      assert.throws(
        () => loadConfig(secretive, { env: { MODE: 'server', PIN: secret } }),
        (error: PlatformError) => {
          return error.message.includes('PIN=[secret]') && !error.message.includes(secret);
        }
      );
    })
  );
});

test('property: base URLs lose their trailing slashes; credentials, queries and other schemes are refused', () => {
  const path = fc.array(fc.stringMatching(/^[a-z0-9]{1,8}$/), { maxLength: 3 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(fc.webAuthority(), path, fc.stringMatching(/^\/{0,3}$/), (authority, tail, slashes) => {
      const base = `http://${authority}/${tail}`;
      fc.pre(URL.canParse(base) && new URL(base).username === '');
      const read = readBaseUrl(base + slashes);
      assert.doesNotMatch(read, /\/$/);
      assert.equal(readBaseUrl(read), read);
      assert.throws(() => readBaseUrl(`${base}?a=1`), /must be base URLs/);
      assert.throws(() => readBaseUrl(`${base}#a`), /must be base URLs/);
    })
  );
  for (const bad of ['ftp://host', 'http://user:pass@host', 'host:3006', ''])
    assert.throws(() => readBaseUrl(bad), /must be base URLs/);
});

test('property: the nearest name of a name with one typing error is that name', () => {
  const names = ['SYNC_MODE', 'SYNC_API_PORT', 'SYNC_SOURCES', 'SYNC_STATE_DIR'];
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.nat(), (name, where) => {
      const at = where % name.length;
      assert.equal(nearest(name.slice(0, at) + name.slice(at + 1), names), name);
    })
  );
});

test('the environment wins over config.json, that over the default; empty text counts as unset', () => {
  const { values, origins } = loadConfig(VARIABLES, {
    env: { MODE: 'client', SIZE: '  ' },
    file: { MODE: 'server', SIZE: 7, READONLY: null }
  });
  assert.deepEqual([values.MODE, values.SIZE, values.READONLY, values.PORT], ['client', 7, false, 3006]);
  assert.deepEqual(origins, {
    MODE: 'environment',
    SIZE: 'config file',
    READONLY: 'default',
    PORT: 'default',
    KEY: 'unset',
    SOURCES: 'unset'
  });
});

const HUB_PLACE = { service: 'x', params: ['port'] };
const SHARED = {
  SIZE: integer({ default: 5, min: 2, max: 9, doc: 'how many', hub: HUB_PLACE }),
  PASS: text({ required: true, doc: 'secret', secret: true, hub: HUB_PLACE })
} as const;

test('property: environment before config.json before the hub before the default, each origin named', () => {
  const size = fc.option(fc.integer({ min: 2, max: 9 }).map(String), { nil: undefined });
  fc.assert(
    fc.property(size, size, size, (env, file, hub) => {
      const loaded = loadConfig(SHARED, {
        env: { SIZE: env, PASS: 'p' },
        file: { SIZE: file },
        hub: { texts: hub === undefined ? {} : { SIZE: hub } }
      });
      assert.equal(loaded.values.SIZE, Number(env ?? file ?? hub ?? 5));
      const origin = env ? 'environment' : file ? 'config file' : hub ? 'hub' : 'default';
      assert.equal(loaded.origins['SIZE'], origin);
      assert.match(
        describeConfig(SHARED, loaded),
        new RegExp(`^SIZE = \\d  \\(${origin.replace('.', '\\.')}\\)$`, 'm')
      );
    })
  );
});

test('CONFIG_INVALID: a wrong value of the hub is told by its variable, what it lacks with the reason', () => {
  assert.throws(() => loadConfig(SHARED, { env: {}, hub: { texts: { SIZE: '70' }, reason: 'no module of it' } }), {
    message:
      /^SIZE="70" must be a whole number from 2 to 9, and comes from the hub; example: SIZE=5\nmissing required environment variable PASS: secret; example: PASS=text; no module of it/
  });
  const { values } = loadConfig(SHARED, { env: {}, hub: { texts: { PASS: ' p ' } } });
  assert.equal(values.PASS, ' p ', 'a text of the hub is taken as it is');
});

test('conditions between variables are reported with the rest, but not about one that is faulted already', () => {
  const findFaults = () => [
    'missing required environment variable SOURCES: needed',
    'missing required environment variable KEY: needed'
  ];
  assert.throws(
    () => loadConfig(VARIABLES, { env: { MODE: 'both', SOURCES: 'x' }, findFaults }),
    (error: PlatformError) => {
      const lines = String(error.detail['reason']).split('\n');
      assert.deepEqual(
        lines.map((line) => /MODE=|SOURCES=|variable KEY/.exec(line)?.[0]),
        ['MODE=', 'SOURCES=', 'variable KEY']
      );
      return true;
    }
  );
});

test('CONFIG_INVALID: a configuration file that is missing, no object of values, or has lines that are no variables', () => {
  const directory = mkdtempSync(join(tmpdir(), 'platform-config-'));
  const read = (name: string) => readConfigFile({ PLATFORM_NODE_CONFIG: join(directory, name) });
  const write = (name: string, content: string) => writeFileSync(join(directory, name), content);
  try {
    assert.deepEqual(readConfigFile(), {}, 'there is none in the working directory');
    assert.throws(() => read('config.json'), { code: 'CONFIG_INVALID' });
    for (const content of ['[]', '"text"', 'null', '{']) {
      write('config.json', content);
      assert.throws(() => read('config.json'), { code: 'CONFIG_INVALID' });
    }
    write('config.json', '{"PORT": 1}');
    assert.deepEqual(read('config.json'), { PORT: 1 });
    write(
      'config.json',
      '\uFEFF{"KEY": 1234567890123456789, "PASS": 1.50, "PORT": 8080, "KEYS": [12345678901234567890]}'
    );
    const exact = { KEY: '1234567890123456789', PASS: '1.50', PORT: 8080, KEYS: ['12345678901234567890'] };
    assert.deepEqual(read('config.json'), exact, 'a number that no double has would be another secret');
    write('node.env', `# a comment\n; another\n\nexport A=1\r\nB = x # y \nC=" a \\"b\\" "\nD='it\\n'\nE=\n`);
    assert.deepEqual(read('node.env'), { A: '1', B: 'x # y', C: ' a "b" ', D: 'it\\n', E: '' });
    for (const [content, fault] of [
      ['A=1\nhunter2', /^line 2 must be NAME=value .*file=/],
      ['A=1\nA=2', /^line 2 sets A again/]
    ] as const) {
      write('node.env', content);
      assert.throws(
        () => read('node.env'),
        ({ message }: Error) => fault.test(message) && !message.includes('hunter2')
      );
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
