import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { compareDatabases } from '../../src/verify/compare.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { createDatabase } from '../support/mariadb.ts';
import { appendBlocks, createDecoder } from '../support/sync/generated-decoder.ts';
import { startLyingSource } from '../support/sync/lying-source.ts';
import { ReplicaThread } from '../support/sync/replica-thread.ts';
import { differences, PAIR_KEY, type SyncPair, startPair } from '../support/sync/sync-pair.ts';
import { eventually, temporaryDirectory } from '../support/sync/sync-process.ts';

type Row = Record<string, unknown>;
interface Body {
  block_height: number;
  tables: Record<string, Row[]>;
}

const MEGABYTE = 2 ** 20;
/** A replica of this test needs a tenth of it. */
const MEMORY_MB = 128;
const PLACE = '"the rows go here"';

let pair: SyncPair;
let source: DatabaseCoordinates;
let replica: DatabaseCoordinates;
let tip = 0;
before(async () => {
  source = await createDatabase('hostile_since');
  tip = 119;
  await createDecoder(source, { seed: 'hostile since', blocks: 20, rows: 400 });
  pair = await startPair('decoder', source);
  replica = await createDatabase('hostile_since_replica');
  const thread = new ReplicaThread(replica, 'decoder', [pair.server.url]);
  await thread.isLiveAt(tip);
  await thread.end();
});

/** Forged body of a since-snapshot: its bytes are made when they are asked for. */
type Forge = (body: Body, headers: Record<string, string>) => AsyncIterable<Buffer>;

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield gzipSync(text);
}

async function send(response: ServerResponse, headers: Record<string, string>, bytes: AsyncIterable<Buffer>) {
  response.writeHead(200, headers);
  for await (const piece of bytes) {
    if (response.destroyed) return;
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
}

/** The server of the pair, but for its since-snapshots. */
async function forgedSource(forge: Forge): Promise<string> {
  const { url } = await startLyingSource(pair.server.url, undefined, undefined, undefined, (request, response) => {
    if (!/\/since\/\d+\?lookups/.test(request.url ?? '')) return false;
    void (async () => {
      const answer = await fetch(`${pair.server.url}${request.url}`, {
        headers: { authorization: `Bearer ${PAIR_KEY}`, 'accept-encoding': 'gzip' }
      });
      const named = Object.fromEntries([...answer.headers].filter(([name]) => name.startsWith('x-')));
      const headers: Record<string, string> = { ...named, 'content-encoding': 'gzip' };
      await send(response, headers, forge((await answer.json()) as Body, headers));
    })().catch(() => response.destroy());
    return true;
  });
  return url;
}

/** Adds blocks while no replica is there. */
async function append(count: number): Promise<void> {
  tip = await appendBlocks(source, count, `block after ${tip}`);
  await eventually('the server is there', async () => (await pair.status(pair.server))['block_height'] === tip);
}

/** Brings the replica through two blocks of a source that lies and the honest one. @returns what is said of the liar */
async function catchUp(url: string, stateDirectory = temporaryDirectory('hostile-since')): Promise<string | null> {
  await append(2);
  const sources = [url, pair.server.url];
  const limits = { maxOldGenerationSizeMb: MEMORY_MB };
  const thread = new ReplicaThread(replica, 'decoder', sources, { verifyHashes: false, stateDirectory }, limits);
  const death = thread.handle.exited.then((error) => Promise.reject(error));
  let error: string | null = null;
  const live = thread.until(`live at block ${tip}`, (report) => {
    error = thread.source(url)?.error ?? error;
    return report.phase === 'live' && report.height === tip;
  });
  await Promise.race([live, death]);
  death.catch(() => undefined);
  await thread.end();
  const verdict = await compareDatabases(source, replica);
  assert.ok(verdict.equal, JSON.stringify(differences(verdict)));
  return error;
}

/** The same body, with one more row of a block that the replica has. */
const withRow = (body: Body, row: Row, text = (json: string) => json) => {
  const [first] = body.tables['transactions']!;
  body.tables['transactions'] = [{ ...first, ...row }, ...body.tables['transactions']!];
  return bytesOf(text(JSON.stringify(body)));
};

/** The same body, with rows of a block that the replica has, and no end of them. */
async function* endless(body: Body): AsyncGenerator<Buffer> {
  const [row] = body.tables['transactions']!;
  const json = JSON.stringify({ ...body, tables: { ...body.tables, transactions: [JSON.parse(PLACE)] } });
  yield gzipSync(json.slice(0, json.indexOf(PLACE)));
  for (let index = 1e6; ; index += 100) {
    const data = randomBytes(2_000).toString('hex');
    const rows = Array.from({ length: 100 }, (_, at) => JSON.stringify({ ...row, tx_index: index + at, data }));
    yield gzipSync(`${rows.join(',')},`, { level: 1 });
  }
}

/** One gzip member of megabytes of blanks. */
async function* bomb(): AsyncGenerator<Buffer> {
  yield gzipSync(`{"schema_version":3,"tables":{${' '.repeat(64 * MEGABYTE)}`);
}

const LIES: readonly [what: string, forge: Forge, message: RegExp][] = [
  ['a bomb', bomb, /bytes of the body are no rows/],
  ['a row above MAX_ROW_BYTES', (body) => withRow(body, { data: 'x'.repeat(MEGABYTE) }), /longer than 1048576 bytes/],
  [
    'a row nested 200 levels',
    (body) => withRow(body, {}, (json) => json.replace('"fee":', `"fee":${'['.repeat(200)}${']'.repeat(200)},"x":`)),
    /nested deeper/
  ],
  ['an unknown column', (body) => withRow(body, { evil: 1 }), /column evil/],
  ['no end mark', (body) => bytesOf(JSON.stringify(body).slice(0, -1)), /before its end mark/],
  [
    'a body that is not compressed',
    (body, headers) => {
      delete headers['content-encoding'];
      return (async function* () {
        yield Buffer.from(JSON.stringify(body));
      })();
    },
    /content-encoding none/
  ]
];

for (const [what, forge, message] of LIES) {
  test(`a since-snapshot with ${what} is refused by name, and the honest source is followed`, async () => {
    assert.match((await catchUp(await forgedSource(forge))) ?? 'no error', message);
  });
}

test('a since-snapshot without end is refused before it takes all memory, and the honest source is followed', async () => {
  assert.match((await catchUp(await forgedSource(endless))) ?? 'no error', /more memory than ACTOR_MEMORY_MB leaves/);
});

test('an actor that died follows another source than the one before it', async () => {
  const stateDirectory = temporaryDirectory('followed');
  const silent = await forgedSource(async function* () {
    await new Promise(() => undefined);
    yield Buffer.alloc(0);
  });
  await append(1);
  const sources = [silent, pair.server.url];
  const first = new ReplicaThread(replica, 'decoder', sources, { verifyHashes: false, stateDirectory });
  await first.until('it asks the silent one', ({ replica }) => replica?.sources[0]?.height === tip);
  await first.handle.terminate();
  assert.match((await catchUp(silent, stateDirectory)) ?? 'no error', /followed when the last actor died/);
});

test('one that stopped as it was told follows the first source again', async () => {
  const stateDirectory = temporaryDirectory('followed');
  assert.equal(await catchUp(pair.server.url, stateDirectory), null);
  assert.equal(await catchUp(pair.server.url, stateDirectory), null);
});
