import assert from 'node:assert/strict';
import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { RECORDS } from './support/records.ts';

/*
 * Runs after all the others (scripts/testing/with-mariadb.ts): what they recorded must hold none of the secrets that were in use.
 */
assert.ok(RECORDS, 'PLATFORM_TEST_RECORDS names what a run of all tests has recorded');
const directory = RECORDS;

test('no process that the tests started has logged a secret', async () => {
  const secrets = new Set(
    readFileSync(join(directory, 'secrets'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as string)
  );
  const logs = readdirSync(directory).filter((name) => name.endsWith('.log'));
  let lines = 0;
  for (const name of logs)
    for await (const line of createInterface({ input: createReadStream(join(directory, name)) })) {
      lines += 1;
      for (const secret of secrets) assert.ok(!line.includes(secret), `a secret stands in a log: ${line}`);
    }
  console.log(`${lines} lines of ${logs.length} logs, ${secrets.size} secrets`);
  // The quick part has 16 secrets and 79 logs, some minutes of the rest a part of that.
  assert.ok(secrets.size >= 4 && logs.length >= 10 && lines >= 500, 'the tests record too little to show anything');
});
