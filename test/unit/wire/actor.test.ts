import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DB_TYPES, databaseKey } from '../../../src/wire/data/database.ts';
import { actorKey, actorNamed, subjectOf } from '../../../src/wire/state/actor.ts';
import fc from '../../support/fast-check.ts';

const word = fc.stringMatching(/^[A-Za-z0-9_-]{1,32}$/);

test('property: an actor is found again by the words of its key; a database has one key, whoever names it', () => {
  fc.assert(
    fc.property(fc.constantFrom(...DB_TYPES, 'tracker', 'prices'), word, word, (subject, chain, network) => {
      const name = actorNamed(subject, chain, network);
      assert.equal(actorKey(name), `${subject}/${chain}/${network}`);
      assert.equal(subjectOf(name), subject);
    })
  );
  for (const dbType of DB_TYPES) {
    const id = { dbType, chain: 'bitcoin', network: 'mainnet' };
    assert.equal(actorKey(id), databaseKey(id));
    assert.equal(actorKey({ kind: dbType, chain: 'bitcoin', network: 'mainnet' }), databaseKey(id));
  }
});
