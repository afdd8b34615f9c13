import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSet, writeEntry } from '../../../lab/federation/real-set.ts';
import { connect } from '../../../src/db/connection.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { startServiceProcess } from '../../support/service-process.ts';
import { eventually } from '../../support/sync/sync-process.ts';

interface Consensus {
  readonly phase: string;
  readonly peers: number;
  readonly trouble?: { readonly code: string; readonly reason: string };
}

test('HUB_HALTED: a write comes before the part that votes is there', async () => {
  const { hubs } = await startSet({ hubs: 2 });
  const [hub] = hubs;
  hub!.process!.child.kill('SIGKILL');
  await hub!.process!.exited;
  startServiceProcess('hub', { ...hub!.env, HUB_DB_PORT: String(await freePort()) });
  let refusal = '';
  await eventually('it answers', async () => {
    refusal = await writeEntry(hub!, 'early').then(String, String);
    return refusal.includes('code');
  });
  assert.match(refusal, /HUB_HALTED/);
});

test('health says why a hub decides nothing, and the hub goes on by itself when its log is free', async () => {
  const { hubs } = await startSet({ hubs: 2 });
  const [hub, other] = hubs;
  const health = async () => {
    const response = await fetch(`http://127.0.0.1:${hub!.port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'health' })
    }).catch(() => null);
    const { result } = ((await response?.json()) ?? {}) as { readonly result?: { readonly consensus: Consensus } };
    return { status: response?.status, ...(result?.consensus ?? { phase: 'starting', peers: 0 }) };
  };
  await eventually('both decide', async () => {
    const { peers, trouble } = await health();
    return peers === 1 && trouble === undefined;
  });
  other!.process!.child.kill('SIGKILL');
  await eventually('it tells that the other one is missing', async () => {
    const { status, trouble } = await health();
    return status === 200 && trouble?.code === 'NO_QUORUM';
  });
  hub!.process!.child.kill('SIGKILL');
  await hub!.process!.exited;
  const session = await connect(hub!.database);
  await session.query("SELECT GET_LOCK(CONCAT('hub log ', DATABASE()), 60)");
  startServiceProcess('hub', hub!.env);
  await eventually('it names the session that has its log', async () => {
    const { status, trouble } = await health();
    return status === 503 && /KILL \d+/.test(trouble?.reason ?? '');
  });
  await session.end();
  await eventually('it takes part', async () => (await health()).phase === 'following');
  assert.equal((await health()).trouble?.code, 'NO_QUORUM');
});
