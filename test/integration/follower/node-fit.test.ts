import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { type PrivateLitecoind, startLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { startTestBcoin } from '../../support/coin/bcoin.ts';
import { freeze, thaw } from '../../support/freeze.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../../support/service-process.ts';

interface Told {
  readonly http: number;
  readonly alarm?: { readonly code: string; readonly reason: string; readonly remedy: string; readonly for_s: number };
  readonly stalled?: boolean;
}

/** Asks a service; an answer that takes a second is none. */
async function look(port: number, path: string): Promise<Told> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1_000) });
  return { http: answer.status, ...((await answer.json()) as object) };
}

/** Waits until a service tells what it shall, for 10 s at most unless it starts. */
async function until(what: string, port: number, path: string, isTold: (answer: Told) => boolean, limitMs = 10_000) {
  let last: unknown;
  for (const end = Date.now() + limitMs; ; await sleep(50)) {
    const answer = await look(port, path).catch((caught: unknown) => caught as Error);
    if (!(answer instanceof Error) && isTold(answer)) return answer;
    last = answer;
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(last)} ${String(last)}`);
  }
}

const isWell = ({ http, alarm }: Told) => http === 200 && alarm === undefined;

async function start(service: 'decoder' | 'encoder' | 'utxo', node: PrivateLitecoind, more = {}) {
  const port = await freePort();
  const prefix = { decoder: 'DECODER', encoder: 'ENCODER', utxo: 'UTXO_TRACKER' }[service];
  const database = service === 'encoder' ? {} : databaseEnv(service.toUpperCase(), await createDatabase(service));
  const listens = { [`${prefix}_API_HOST`]: '127.0.0.1', [`${prefix}_API_PORT`]: String(port) };
  const { child, exited, output } = startServiceProcess(service, {
    ...nodeEnv(node),
    ...database,
    ...listens,
    ...more
  });
  after(() => void child.kill('SIGKILL'));
  return { port, exited, output };
}

/** Opens a port before a node. @param hear reads each question, and returns its answer; undefined: it is left open */
async function openDoor(urlOf: () => string, hear: (asked: string, answer: () => Promise<Answer>) => Promise<Answer>) {
  const door = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    const ask = async () => {
      const answer = await fetch(`${urlOf()}${request.url}`, {
        method: request.method!,
        headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
        ...(request.method === 'POST' ? { body } : {})
      }).catch(() => null);
      return answer && { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
    };
    const answer = await hear(`${request.url} ${body}`, ask);
    // The node ends before the last question does.
    if (answer === null) response.destroy();
    else if (answer !== undefined) response.writeHead(answer.status).end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  after(() => void door.close().closeAllConnections());
  return { NODE_PORT: String((door.address() as AddressInfo).port) };
}

type Answer = { readonly status: number; readonly body: Buffer } | null | undefined;

test('NODE_REFUSED, NODE_UNREACHABLE: encoder and decoder need an index, a tracker does not; none is well beside a silent node', async () => {
  const coin = await startTestLitecoind({ flags: ['-txindex=0'] });
  await coin.node.mine(3);
  const [{ port: encoder }, { port: decoder }, { port: tracker }] = [
    await start('encoder', coin.node),
    await start('decoder', coin.node),
    await start('utxo', coin.node)
  ];
  await until('the tracker serves', tracker, '/status', isWell, 40_000);
  for (const port of [encoder, decoder]) {
    const isTold = ({ alarm }: Told) => alarm?.code === 'NODE_REFUSED';
    const { alarm } = await until('an index is missed', port, '/status', isTold, 40_000);
    assert.match(alarm!.reason, /no index of transactions: set txindex=1/);
    assert.equal((await look(port, '/readyz')).http, 503);
  }
  const again = async (flags: readonly string[]) => {
    const { rpcPort, user, password } = coin.node;
    await coin.node.stop();
    coin.node = await startLitecoind(coin.directory, { rpcPort, user, password, flags });
  };
  await again(['-txindex=1']);
  for (const port of [encoder, decoder, tracker]) {
    await until('all is well', port, '/status', isWell, 20_000);
    await until('it is ready', port, '/readyz', isWell);
  }

  await freeze(coin.node.pid);
  for (const port of [encoder, decoder, tracker]) {
    const isTold = ({ alarm }: Told) => alarm?.code === 'NODE_UNREACHABLE';
    const { alarm } = await until('its silence is told', port, '/status', isTold);
    assert.equal(alarm!.reason, 'the coin node does not answer');
    assert.match(alarm!.remedy, /NODE_URL/);
    assert.notEqual((await look(port, '/readyz')).http, 200);
  }
  thaw(coin.node.pid);
  for (const port of [encoder, decoder, tracker]) await until('it is ready again', port, '/readyz', isWell, 40_000);

  await again(['-txindex=0', '-prune=550']);
  for (const port of [encoder, decoder]) {
    const isTold = ({ alarm }: Told) => alarm?.code === 'NODE_REFUSED';
    const { alarm } = await until('it is pruned', port, '/status', isTold, 20_000);
    assert.match(alarm!.reason, /the node is pruned/);
  }
  await until('the tracker goes on', tracker, '/readyz', isWell, 20_000);
});

test('BLOCKS_DELAYED: a node that tells its tip and hangs on blocks stalls the decoder, until it hands them out', async () => {
  const { node } = await startTestLitecoind();
  await node.mine(3);
  let hangs = true;
  const isBlock = (asked: string) => asked.startsWith('/rest/block') || asked.includes('"getblock"');
  const place = await openDoor(
    () => node.url,
    async (asked, answer) => (hangs && isBlock(asked) ? undefined : await answer())
  );
  const { port: decoder } = await start('decoder', node, {
    ...place,
    NODE_RPC_TIMEOUT: '20000',
    DECODER_STALL_ALERT_MS: '12000'
  });
  const isDelayed = ({ alarm }: Told) => alarm?.code === 'BLOCKS_DELAYED';
  const { alarm, http } = await until('the delay is told', decoder, '/live', isDelayed, 40_000);
  assert.match(alarm!.reason, /block 0 is late: the node is at 3/);
  assert.equal(http, 200);
  await until('it is stalled', decoder, '/live', (answer) => answer.http === 503 && answer.stalled === true);
  hangs = false;
  await until('it goes on', decoder, '/live', isWell, 40_000);
});

test('NODE_MISMATCH: encoder, decoder and tracker end when a node of another chain comes to the place of theirs', async () => {
  const { node } = await startTestLitecoind();
  await node.mine(3);
  const other = await startTestBcoin();
  await other.mine(5, payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 1) }));
  let url = node.url;
  const place = await openDoor(
    () => url,
    (_, answer) => answer()
  );
  const services = [
    await start('encoder', node, place),
    await start('decoder', node, place),
    await start('utxo', node, place)
  ];
  for (const { port } of services) await until('all is well', port, '/readyz', isWell, 120_000);
  ({ url } = other);
  for (const { exited, output } of services) {
    assert.equal(await exited, 78, output());
    assert.match(output(), /NETWORK is litecoin-regtest, but the node's first block is that of another chain/);
  }
});
