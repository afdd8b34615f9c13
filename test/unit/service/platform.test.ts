import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFrame } from '../../../src/service/frame.ts';
import { NO_ACTORS } from '../../../src/service/life/no-actors.ts';
import { OtherServices, type ToldService } from '../../../src/service/platform/other-services.ts';
import { platformView } from '../../../src/service/platform/platform-view.ts';
import { arrowOf, boxOf, type Pipeline } from '../../../src/wire/state/pipeline.ts';
import type { ServiceLook } from '../../../src/wire/state/service-look.ts';
import { definitionOf } from '../../support/frame.ts';

/** A lane of boxes at these heights, each joined to the next. */
function laneOf(lane: string, ...boxes: readonly (readonly [role: string, height: number])[]): Pipeline {
  const nodes = boxes.map(([role, height]) => ({ ...boxOf(lane, role, role), state: 'well' as const, height }));
  return { nodes, edges: nodes.slice(1).map((node, at) => arrowOf(nodes[at]!, node, node, node.height)) };
}

function lookOf(service: string, pipeline: Pipeline): ServiceLook {
  return { instance: service, service, version: '1', mode: null, console: '/', readiness: 'ready', pipeline };
}

const toldOf = (look: ServiceLook, fault: string | null = null): ToldService => ({
  url: `http://${look.service}:1`,
  look,
  fault
});

const DECODER = lookOf('decoder', laneOf('decoder/litecoin/regtest', ['coin node', 12], ['decoder', 11]));
const INDEXER = lookOf('indexer', laneOf('indexer/litecoin/regtest', ['source', 11], ['indexer', 4]));
/** Its hub spells the network in its own way. */
const SERVER = lookOf('sync', laneOf('indexer/LTC/regtest', ['database', 4], ['sync server', 4]));
const HUB = lookOf('hub', { nodes: [boxOf(null, 'hub', 'hub')], edges: [] });

test('reports of services become one path of blocks, and a row for each', () => {
  const { pipeline, rows } = platformView(SERVER, [toldOf(HUB), toldOf(INDEXER), toldOf(DECODER)]);
  assert.deepEqual(
    pipeline.nodes.map(({ role, lane, name }) => [role, lane, name]),
    [
      ['coin node', 'litecoin/regtest', 'coin node'],
      ['decoder', 'litecoin/regtest', 'decoder:1'],
      ['indexer', 'litecoin/regtest', 'indexer:1'],
      ['sync server', 'litecoin/regtest', 'this service']
    ]
  );
  assert.deepEqual(
    pipeline.edges.map(({ from, to, lag }) => [from, to, lag]),
    [
      ['litecoin/regtest coin node', 'litecoin/regtest decoder', 1],
      ['litecoin/regtest decoder', 'litecoin/regtest indexer', 7],
      ['litecoin/regtest indexer', 'litecoin/regtest sync server', 0]
    ]
  );
  assert.deepEqual(
    rows.map(({ service, url, height, lag }) => [service, url, height, lag]),
    [
      ['coin node', null, 12, null],
      ['decoder', 'http://decoder:1/', 11, 1],
      ['indexer', 'http://indexer:1/', 4, 7],
      ['sync server', null, 4, 0],
      ['hub', 'http://hub:1/', null, null]
    ]
  );
});

test('an edge is a row of its own behind the servers, with its lag and its subscribers', () => {
  const lane = 'indexer/litecoin/regtest';
  const found = laneOf(lane, ['stream', 9], ['edge', 4]);
  const taker = { ...boxOf(lane, 'subscribers', '2,000 subscribers'), count: 2_000 };
  const edge = { ...lookOf('sync', { ...found, nodes: [...found.nodes, taker] }), instance: 'edge' };
  const { pipeline, rows } = platformView(SERVER, [{ url: 'http://edge1:3012', look: edge, fault: null }]);
  assert.deepEqual(
    rows.map(({ service, url, lane: of, height, lag, subscribers }) => [service, url, of, height, lag, subscribers]),
    [
      ['sync server', null, 'indexer/LTC/regtest', 4, 0, null],
      ['edge', 'http://edge1:3012/', lane, 4, 5, 2_000]
    ]
  );
  assert.deepEqual(pipeline.nodes, [], 'no service is on the way to it');
});

test('a service that does not answer keeps its place, with the reason; one that never answered has a row', () => {
  const never: ToldService = { url: 'http://encoder:1', look: null, fault: 'connect ECONNREFUSED' };
  const { pipeline, rows } = platformView(SERVER, [toldOf(INDEXER, 'timed out'), toldOf(DECODER), never]);
  const states = pipeline.nodes.map(({ role, state, reason }) => [role, state, reason]);
  assert.deepEqual(states[2], ['indexer', 'failed', 'timed out']);
  const { service, url, state, reason } = rows.at(-1)!;
  assert.deepEqual([service, url, state, reason], [null, 'http://encoder:1', 'failed', 'connect ECONNREFUSED']);
});

test('a row that rests on a coin node that does not answer says so, and the node alone is blamed', () => {
  const [silent, decoder] = DECODER.pipeline.nodes;
  const remedy = 'the coin node does not answer; check NODE_URL';
  const node = { ...silent!, state: 'failed', doing: 'does not answer', reason: remedy, height: 11 } as const;
  const waiting = { ...decoder!, state: 'waiting', reason: 'its coin node does not answer' } as const;
  const stopped = { ...DECODER, pipeline: { ...DECODER.pipeline, nodes: [node, waiting] } };
  const lane = 'indexer/litecoin/regtest';
  const server = lookOf('sync', laneOf('indexer/LTC/regtest', ['database', 4], ['sync server', 4]));
  const replica = { ...lookOf('sync', laneOf(lane, ['source', 4], ['replica', 4])), instance: 'replica' };
  const explorer = lookOf('explorer', laneOf(lane, ['database', 4], ['explorer', 4]));
  const elsewhere = { ...lookOf('sync', laneOf(lane, ['source', 6], ['replica', 6])), instance: 'elsewhere' };
  const others = [stopped, INDEXER, replica, explorer, elsewhere, HUB].map((look) => toldOf(look));
  const { rows } = platformView(server, others);
  const rests = 'rests on the coin node, which does not answer';
  assert.deepEqual(
    rows.map(({ service, state, lag, reason }) => [service, state, lag, reason]),
    [
      ['coin node', 'failed', null, remedy],
      ['decoder', 'waiting', null, rests],
      ['indexer', 'waiting', null, rests],
      ['sync server', 'waiting', null, rests],
      ['replica', 'waiting', null, rests],
      ['replica', 'well', 0, null],
      ['explorer', 'waiting', null, rests],
      ['hub', 'unknown', null, null]
    ]
  );
  const well = platformView(server, [toldOf(DECODER), toldOf(INDEXER)]).rows;
  assert.deepEqual(
    well.map(({ state, lag }) => [state, lag]),
    [
      ['well', null],
      ['well', 1],
      ['well', 7],
      ['well', 0]
    ]
  );
});

test('a service that is told to ask itself too is shown once', () => {
  const { rows } = platformView(SERVER, [toldOf(SERVER), toldOf(DECODER)]);
  assert.deepEqual(
    rows.map(({ service }) => service),
    ['coin node', 'decoder', 'sync server']
  );
});

/** A server on the loopback. @returns its base URL */
async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('GET /debug/pipeline is what other services read; a wrong key, a wrong shape and too many bytes are named', async (t) => {
  const app = createFrame(
    definitionOf({
      name: 'decoder',
      keys: { readers: ['k'] },
      actors: { ...NO_ACTORS, pipeline: () => DECODER.pipeline }
    })
  );
  t.after(() => app.close());
  const good = await app.listen({ host: '127.0.0.1', port: 0 });
  const hostile = await serve(t, (_, response) => response.end('{"service": "decoder"}'));
  const endless = await serve(t, (_, response) => response.end('x'.repeat(600_000)));
  const gone = 'http://127.0.0.1:1';
  const faultsWith = async (key: string) => {
    const others = new OtherServices([good, hostile, endless, gone], key);
    others.list();
    for (let left = 200; others.list().some(({ look, fault }) => !look && !fault) && left > 0; left--) await sleep(20);
    return others.list();
  };
  const [first, ...bad] = await faultsWith('k');
  assert.equal(first!.fault, null);
  assert.deepEqual(first!.look!.pipeline, DECODER.pipeline);
  const [shape, size, refusal] = bad.map(({ fault }) => fault);
  assert.deepEqual([shape, size], ['it answered no state of a service', 'it answered more than 524288 bytes']);
  assert.ok(refusal);
  const [refused] = await faultsWith('wrong');
  assert.match(refused!.fault!, /refused the key: set CONSOLE_SERVICES_KEY/);
});
