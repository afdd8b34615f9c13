import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { KnownDatabases } from '../../../src/hub/known-databases.ts';
import { temporaryDirectory } from '../../support/sync/sync-process.ts';

const COORDINATES = { host: 'db', port: 3306, user: 'u', pass: 'secret', name: 'Platform_LTC' };
const DATABASES = [
  { id: { dbType: 'indexer', chain: 'litecoin', network: 'mainnet' }, coordinates: COORDINATES }
] as const;

test('databases that the hub named count for the same mode with one of the same hubs, and for nobody else', async () => {
  const directory = temporaryDirectory('known');
  const of = (mode: string, ...hubs: string[]) => new KnownDatabases(directory, { mode, hubs });
  await of('server', 'hub1:10000', 'hub2:10000').keep(DATABASES);
  assert.equal((await of('server', 'hub2:10000').recall())?.[0]?.coordinates.name, 'Platform_LTC');
  assert.equal(await of('client', 'hub1:10000').recall(), null);
  assert.equal(await of('server', 'hub3:10000').recall(), null);
  // As an earlier version kept it, without a word on whose it is.
  writeFileSync(join(directory, 'databases.json'), JSON.stringify([{ id: DATABASES[0].id, name: 'Platform_LTC' }]));
  assert.equal(await of('server', 'hub1:10000').recall(), null);
});
