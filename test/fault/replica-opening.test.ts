import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { rows } from '../../src/db/connection.ts';
import { openReplicaState } from '../../src/replication/replica/database/state.ts';
import { openWriter } from '../../src/replication/replica/database/writer-connection.ts';
import { type Fault, FaultyLink } from '../support/faulty-link.ts';
import { dropAfterwards, testServer } from '../support/mariadb.ts';

const FAULTS: readonly Fault[] = [
  { when: 'before', errno: 1205 },
  { when: 'before', errno: 1213 },
  { when: 'after', errno: 1317 },
  { when: 'after', errno: null }
];
const MOST_STATEMENTS = 200;

async function newReplica() {
  const server = await testServer();
  const link = await FaultyLink.open(server);
  const to = { ...server, name: `t_opening_${randomBytes(5).toString('hex')}` };
  dropAfterwards(server, to.name);
  const open = async () => {
    const writer = await openWriter(link.through(to), { generation: 1 });
    try {
      return { writer, state: await openReplicaState(writer, 'indexer') };
    } catch (caught) {
      writer.destroy();
      throw caught;
    }
  };
  return { link, open };
}

test('whichever statement fails while a replica is opened for the first time, the next start goes on from there', async () => {
  for (const fault of FAULTS) {
    const { link, open } = await newReplica();
    for (let nth = 1, failed: string | undefined = ''; failed !== undefined; nth++) {
      link.fail(nth, fault);
      const opened = await open().catch(({ code }: { code: string }) => code);
      failed = link.statements[nth - 1];
      link.watch();
      const place = `${fault.errno ?? 'a cut'} ${fault.when} statement ${nth}: ${failed}`;
      assert.ok(nth < MOST_STATEMENTS, place);
      assert.equal(typeof opened === 'string', failed !== undefined, place);
      if (typeof opened === 'string') assert.notEqual(opened, 'REPLICA_FOREIGN', place);
      else {
        const { complete, height, phase } = opened.state;
        assert.deepEqual([complete, height, phase], [false, null, 'bootstrapping']);
        await opened.writer.end();
      }
    }
  }
});

test('DATABASE_UNAVAILABLE: a server without a free connection is worth a retry', async () => {
  const { link, open } = await newReplica();
  link.refuseNext(1040);
  await assert.rejects(open(), { code: 'DATABASE_UNAVAILABLE' });
  const { writer } = await open();
  assert.equal(
    (await rows(writer, 'SELECT IS_USED_LOCK(CONCAT("platform:", DATABASE())) AS h'))[0]?.['h'],
    writer.threadId
  );
  await writer.end();
});
