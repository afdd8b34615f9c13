import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import { hasCode } from '../../../../src/errors.ts';
import { askHashes } from '../../../../src/replication/client/ask-hashes.ts';
import { SourceClient } from '../../../../src/replication/client/source-client.ts';
import type { ReplicaActorData } from '../../../../src/replication/protocol.ts';
import { Replica } from '../../../../src/replication/replica/parts/replica.ts';
import { SourceQuorum } from '../../../../src/replication/replica/quorum/source-quorum.ts';
import type { DatabaseId } from '../../../../src/wire/data/database.ts';
import { eventually } from '../../../support/sync/sync-process.ts';

const ID: DatabaseId = { dbType: 'indexer', chain: 'bitcoin', network: 'regtest' };
const hashes = (hash: string) => ({ ledger_hash: hash, actions_hash: 'aa', contract_hash: null });
const signal = AbortSignal.timeout(30_000);

/** A peer that names one hash for each of its blocks, by status, transparency log and stream. */
async function startSource(initialTip: number, initially: string) {
  let tip = initialTip;
  let isSilent = false;
  let endsAtTip = false;
  const paths: string[] = [];
  const sockets: WebSocket[] = [];
  let hash = initially;
  const head = () => ({ ...ID, block_height: tip, block_time: 1, ...hashes(hash) });
  const log = (limit: number) =>
    Array.from({ length: Math.min(limit, tip + 1) }, (_, index) => ({ block_index: tip - index, ...hashes(hash) }));
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    if (isSilent) return;
    const limit = /roots.*limit=(\d+)/.exec(request.url ?? '')?.[1];
    const isStatus = request.url?.startsWith('/status');
    if (endsAtTip && request.url?.startsWith('/snapshot'))
      return void response.writeHead(200, { 'x-block-height': tip, 'content-encoding': 'gzip' }).end();
    response.statusCode = limit || isStatus ? 200 : 404;
    response.end(JSON.stringify(limit ? { results: log(Number(limit)) } : isStatus ? head() : {}));
  });
  const streams = new WebSocketServer({ noServer: true });
  server.on('upgrade', (request, socket, rest) =>
    streams.handleUpgrade(request, socket, rest, (client) => {
      paths.push(request.url ?? '');
      sockets.push(client);
      client.send(JSON.stringify({ type: 'status', ...head() }));
    })
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    for (const client of sockets) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const grow = () => {
    tip++;
    for (const client of sockets) client.send(JSON.stringify({ type: 'status', ...head() }));
  };
  /** Its snapshots end at its tip, whatever is asked for, and name no block. */
  const isOfAnotherMake = () => (endsAtTip = true);
  return { url, paths, grow, isOfAnotherMake, says: (next: string) => (hash = next), hush: () => (isSilent = true) };
}

type Source = Awaited<ReturnType<typeof startSource>>;

/** The quorum over these sources, the first of which is followed, and what it logs. */
function sit(sources: readonly Source[], hashConfirmTimeoutMs = 5_000) {
  const lines: { msg: string; said?: unknown }[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const data: ReplicaActorData = {
    id: ID,
    generation: 1,
    coordinates: { host: '', port: 0, user: '', pass: '', name: '' },
    sources: sources.map(({ url }) => ({ url, apiKey: undefined })),
    verifyHashes: true,
    hashConfirmTimeoutMs,
    maxRollbackDepth: 10,
    epochSize: 10,
    stateDomain: null,
    reconnectDelayMs: 50,
    localTables: [],
    maxRowBytes: 2 ** 20,
    stateDirectory: '',
    circuitFailures: 5,
    circuitCooldownMs: 100,
    logLevel: 'silent'
  };
  const replica = new Replica(
    data,
    log,
    () => undefined,
    () => undefined
  );
  const sourceQuorum = new SourceQuorum(replica, () => () => undefined);
  sourceQuorum.listen();
  after(async () => {
    sourceQuorum.close();
    await replica.close();
  });
  return { sourceQuorum, replica, lines };
}

test('a contested block is held, told with who said what, and applied when the majority stands; the other one is counted', async () => {
  const [a, b, c] = [await startSource(7, 'x'), await startSource(7, 'x'), await startSource(7, 'y')];
  const { sourceQuorum, replica, lines } = sit([a, c, b]);
  const heard = () => replica.sources.records.filter(({ state }) => state === 'heard').length;
  await eventually('both others are heard', async () => heard() === 2);
  assert.equal(await sourceQuorum.confirm(7, hashes('x'), signal), 'agreed');
  const mismatch = lines.find(({ msg }) => msg === 'hash mismatch between sources at block 7');
  assert.deepEqual(mismatch?.said, { [a.url]: 'aa::x', [c.url]: 'aa::y' });
  assert.deepEqual(
    replica.sources.records.map(({ url, dissents }) => [url, dissents]),
    [
      [a.url, 0],
      [c.url, 1],
      [b.url, 0]
    ]
  );
  assert.ok(c.paths.includes('/subscribe/indexer/bitcoin/regtest?sync_mode=infra-only'));
});

test('one that contests in its stream and is silent when asked again holds up one block, not each', async () => {
  const [a, b, liar] = [await startSource(7, 'x'), await startSource(7, 'x'), await startSource(7, 'y')];
  const { sourceQuorum, replica, lines } = sit([a, liar, b], 2_000);
  const heard = () => replica.sources.records.filter(({ state }) => state === 'heard').length;
  await eventually('both others are heard', async () => heard() === 2);
  liar.hush();
  const decide = async (height: number) => {
    const began = performance.now();
    assert.equal(await sourceQuorum.confirm(height, hashes('x'), signal), 'agreed');
    return performance.now() - began;
  };
  assert.ok((await decide(7)) > 1_000, 'its word is waited for once');
  assert.ok(lines.some(({ msg }) => msg.startsWith(`${liar.url} held block 7 up`)));
  for (let height = 8; height < 13; height++) {
    for (const source of [a, b, liar]) source.grow();
    await eventually('the others have said so', async () =>
      replica.sources.records.slice(1).every((source) => source.height === height)
    );
    assert.ok((await decide(height)) < 1_000, `block ${height}`);
  }
});

test('SOURCE_INVALID: the source that is followed is in the minority', async () => {
  const [a, b, c] = [await startSource(7, 'x'), await startSource(7, 'y'), await startSource(7, 'y')];
  const { sourceQuorum, replica } = sit([a, b, c]);
  await assert.rejects(sourceQuorum.confirm(7, hashes('x'), signal), (error) => hasCode(error, 'SOURCE_INVALID'));
  assert.equal(replica.sources.records[0]?.dissents, 1);
});

test('two sources that pass through a reorg one after the other: the block is held until they agree, on the new one', async () => {
  const [a, b] = [await startSource(7, 'old'), await startSource(7, 'new')];
  const { sourceQuorum } = sit([a, b]);
  setTimeout(() => a.says('new'), 700);
  assert.equal(await sourceQuorum.confirm(7, hashes('old'), signal), 'other');
});

test('a rollback is granted when the majority has another block, and refused when it has ours', async () => {
  const [a, b] = [await startSource(7, 'x'), await startSource(7, 'x')];
  const { sourceQuorum } = sit([a, b]);
  assert.equal(
    await sourceQuorum.confirmOwnBlock(7, hashes('x'), { reported: null, hasBlock: true }, signal),
    'agreed'
  );
  assert.equal(
    await sourceQuorum.confirmOwnBlock(5, hashes('z'), { reported: null, hasBlock: false }, signal),
    'other'
  );
});

test('a block of which nobody else tells waits, until the wait is given up', async () => {
  const [a, b] = [await startSource(9, 'x'), await startSource(7, 'x')];
  const { sourceQuorum, lines } = sit([a, b], 100);
  const patience = AbortSignal.timeout(1_500);
  await assert.rejects(sourceQuorum.confirm(9, hashes('x'), patience));
  assert.ok(patience.aborted);
  assert.equal(lines.filter(({ msg }) => msg === 'block 9 waits for a majority of the sources').length, 1);
});

test('a block that the others have passed and cannot name is left to a later one; one that fails is waited for', async () => {
  const [a, b, c] = [await startSource(2_000, 'x'), await startSource(2_000, 'x'), await startSource(2_000, 'x')];
  const { sourceQuorum, lines } = sit([a, b, c], 100);
  const brief = AbortSignal.timeout(1_500);
  await assert.rejects(sourceQuorum.confirm(7, hashes('x'), brief));
  assert.ok(brief.aborted);
  b.isOfAnotherMake();
  assert.equal(await sourceQuorum.confirm(7, hashes('x'), signal), 'unnamed');
  assert.equal(await sourceQuorum.confirm(7, hashes('x'), signal), 'unnamed', 'it is not remembered as agreed on');
  assert.equal(
    await sourceQuorum.confirmOwnBlock(7, hashes('x'), { reported: hashes('x'), hasBlock: true }, signal),
    'unnamed'
  );
  assert.equal(
    await sourceQuorum.confirmOwnBlock(7, hashes('z'), { reported: hashes('x'), hasBlock: false }, signal),
    'unnamed'
  );
  const warnings = lines.filter(({ msg }) => msg.startsWith('sources beyond block 7 cannot name it'));
  assert.deepEqual(
    warnings.map((line) => (line as { sources?: unknown }).sources),
    [[b.url]]
  );
  assert.equal(await sourceQuorum.confirm(2_000, hashes('x'), signal), 'agreed');
});

test('a block of the replica that another source names is not left to a later one when the followed source has left it', async () => {
  const [a, b, c] = [await startSource(2_000, 'x'), await startSource(7, 'z'), await startSource(2_000, 'x')];
  c.isOfAnotherMake();
  const { sourceQuorum, replica } = sit([a, b, c], 100);
  await eventually('the others are heard', async () => replica.sources.records[1]?.height === 7);
  const brief = AbortSignal.timeout(1_500);
  await assert.rejects(sourceQuorum.confirmOwnBlock(7, hashes('z'), { reported: null, hasBlock: false }, brief));
  assert.ok(brief.aborted);
});

test('hashes are asked for in the leanest way: the status at its height, else one page of the log', async () => {
  const source = await startSource(20, 'x');
  const client = new SourceClient(source.url, undefined, ID);
  assert.deepEqual([...(await askHashes(client, 20, signal)).hashes.keys()], [20]);
  assert.deepEqual([...(await askHashes(client, 25, signal)).hashes.keys()], [20]);
  assert.deepEqual(source.paths, ['/status/indexer/bitcoin/regtest', '/status/indexer/bitcoin/regtest']);
  assert.deepEqual((await askHashes(client, 15, signal)).hashes.get(15), hashes('x'));
  assert.equal(source.paths.at(-1), '/transparency/indexer/bitcoin/regtest/roots?page=0&limit=16');
  await client.close();
});
