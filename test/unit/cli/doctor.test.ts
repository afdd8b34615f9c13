import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { findLacking } from '../../../src/cli/commands/doctor/grants.ts';
import { CONTROL_RIGHTS, CONTROL_TABLES, RIGHTS } from '../../../src/config/rights.ts';
import { runCommandLine } from '../../support/command-line.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
/** Name of the database in the documents, by the prefix of its variables. */
const DATABASES = {
  HUB: 'Platform_Hub',
  DECODER: 'Platform_LTC_Mainnet_Decoder',
  INDEXER: 'Platform_LTC_Mainnet_Indexer',
  UTXO: 'Platform_LTC_Mainnet_Tracker',
  REPLICA: 'Platform\\_%'
} as const;

test('the rights that doctor asks for are those of docs/operating/grants.md and of the compose file', () => {
  const granted = [...read('docs/operating/grants.md').matchAll(/^GRANT .*;$/gm)].map(([line]) => line);
  for (const [role, databases] of Object.entries(RIGHTS))
    for (const [prefix, rights] of Object.entries(databases)) {
      const on = `ON \`${DATABASES[prefix as keyof typeof DATABASES]}\`.* TO '${role}'@`;
      const line = granted.find((each) => each.includes(on));
      assert.equal(line?.slice('GRANT '.length, line.indexOf(' ON ')), rights.join(', '), `${role} ${prefix}`);
    }
  for (const table of CONTROL_TABLES)
    assert.ok(
      granted.some((line) =>
        line.startsWith(`GRANT ${CONTROL_RIGHTS.join(', ')} ON \`${DATABASES.INDEXER}\`.${table} `)
      )
    );
  const script = read('ops/platform-grants.sh').replaceAll('$write', 'SELECT, INSERT, UPDATE, DELETE, CREATE');
  for (const role of ['hub', 'decoder', 'indexer', 'explorer', 'tracker'] as const)
    for (const [prefix, rights] of Object.entries(RIGHTS[role])) {
      const name = prefix === 'HUB' ? 'Hub' : { DECODER: 'Decoder', INDEXER: 'Indexer', UTXO: 'Tracker' }[prefix];
      const [, words = ''] = new RegExp(`grant ${role} "?([A-Z, ]+?)"? "?\\S*_${name}"?\\)`).exec(script) ?? [];
      assert.deepEqual(words.split(', ').sort(), [...rights].sort(), `${role} ${prefix}`);
    }
});

test('rights are read from SHOW GRANTS: patterns, roles, tables, columns, and what is given on all databases', () => {
  const lacking = (lines: readonly string[], rights: readonly string[], table: string | null = null) =>
    findLacking(lines, 'Platform_LTC_D', table, rights);
  const to = 'TO `u`@`%`';
  assert.deepEqual(lacking([`GRANT USAGE ON *.* ${to} IDENTIFIED BY PASSWORD '*0'`], ['SELECT']), ['SELECT']);
  assert.deepEqual(lacking([`GRANT SELECT, INSERT ON \`Platform_LTC_D\`.* ${to}`], ['SELECT', 'DROP']), ['DROP']);
  assert.deepEqual(lacking([`GRANT SELECT ON \`Platform\\_%\`.* ${to}`, 'GRANT `r` TO `u`@`%`'], ['SELECT']), []);
  assert.deepEqual(lacking([`GRANT SELECT ON \`Platform\\_BTC%\`.* ${to}`], ['SELECT']), ['SELECT']);
  assert.deepEqual(lacking([`GRANT SELECT ON \`PlatformXLTC_D\`.* ${to}`], ['SELECT']), ['SELECT']);
  assert.deepEqual(lacking([`GRANT ALL PRIVILEGES ON *.* ${to} WITH GRANT OPTION`], ['SELECT', 'DROP']), []);
  assert.deepEqual(lacking([`GRANT INSERT ON \`Platform_LTC_D\`.\`t\` ${to}`], ['INSERT']), ['INSERT']);
  assert.deepEqual(lacking([`GRANT INSERT ON \`Platform_LTC_D\`.\`t\` ${to}`], ['INSERT'], 't'), []);
  assert.deepEqual(
    lacking([`GRANT SELECT (\`a\`, \`b\`), UPDATE ON \`Platform_LTC_D\`.\`t\` ${to}`], ['SELECT'], 't'),
    ['SELECT']
  );
});

test('doctor of a service without MariaDB and coin node names each with its remedy, as text and as JSON; exit code 1', async () => {
  const other = createServer((_, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const port = String((other.address() as AddressInfo).port);
  const env = {
    NETWORK: 'RLTC',
    NODE_PORT: '1',
    NODE_USER: 'u',
    NODE_PASSWORD: 'hunter2-hunter2',
    DECODER_DB_HOST: '127.0.0.1',
    DECODER_DB_PORT: '1',
    DECODER_DB_NAME: 'D',
    DECODER_DB_USER: 'u',
    DECODER_DB_PASS: 'hunter2-hunter2',
    DECODER_API_HOST: '127.0.0.1',
    DECODER_API_PORT: port
  };
  try {
    const { code, stdout, stderr } = await runCommandLine(['doctor'], env);
    assert.equal(code, 1, stderr);
    assert.match(stdout, /^ok +decoder +configuration /m);
    assert.match(stdout, /^fault +decoder +DECODER_API_PORT=\d+ +another program listens there\n +-> stop it, or set/m);
    assert.match(stdout, /^fault +decoder +MariaDB 127\.0\.0\.1:1 +.*ECONNREFUSED.*\n +-> check MariaDB/m);
    assert.match(stdout, /^unknown +decoder +database D /m);
    assert.match(stdout, /^fault +decoder +coin node http:\/\/127\.0\.0\.1:1 +.*\n +-> check NODE_URL/m);
    assert.match(stdout, /\n3 faults\n$/);
    assert.doesNotMatch(stdout + stderr, /hunter2/);
    const named = await runCommandLine(['doctor', 'indexer', '--json'], env);
    const found = JSON.parse(named.stdout) as { service: string; state: string; reason: string }[];
    assert.equal(named.code, 1);
    assert.ok(found.every(({ service, state }) => service === 'indexer' && state === 'fault'));
    assert.ok(found.some(({ reason }) => reason.startsWith('missing required environment variable INDEXER_DB_HOST')));
    assert.equal((await runCommandLine(['doctor'])).code, 64);
    assert.equal((await runCommandLine(['doctor', 'decodr'])).code, 64);
  } finally {
    other.close();
  }
});
