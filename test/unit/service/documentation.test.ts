import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { readWebFiles } from '../../../src/process/program.ts';
import { schemaText } from '../../../src/service/pages/schema-text.ts';
import { prepareConsoleFiles } from '../../../src/service/routes/console-files.ts';
import type { OpenApi, Operation } from '../../../src/service/schema/openapi.ts';
import { DECODER, INDEXER, openFrontDoor, reportOf, routesOf } from '../../support/sync/front-door.ts';

const AT = 'bitcoin/regtest';

describe('GET /openapi.json', async () => {
  const { app } = await openFrontDoor({
    reports: [reportOf(INDEXER), reportOf(DECODER)],
    answers: {
      'transparency.roots': (body: object) => ({ ...body, total: 0, results: [] }),
      'transparency.latest': () => ({ epoch: null, merkle_root: null })
    }
  });
  const document: OpenApi = (await app.inject('/openapi.json')).json();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation])
  );

  test('every route is in it, and nothing else', async () => {
    const routes = (await routesOf(app)).filter(
      ({ method, path }) => method !== 'HEAD' && !path.startsWith('/console/')
    );
    const expected = routes.map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`);
    assert.deepEqual(operations.map(([name]) => name).sort(), expected.sort());
    assert.equal(document.openapi, '3.1.1');
  });

  test('each operation has an id of its own, its path parameters, its statuses and an error body', () => {
    assert.equal(new Set(operations.map(([, { operationId }]) => operationId)).size, operations.length);
    for (const [name, { parameters = [], responses, tags, summary }] of operations) {
      const inPath = [...name.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
      const declared = parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name);
      assert.deepEqual(declared.sort(), inPath.sort(), name);
      const statuses = Object.keys(responses).map(Number);
      assert.ok(
        statuses.some((status) => status < 300),
        name
      );
      assert.equal(
        statuses.includes(401),
        !['get /', 'get /livez', 'get /readyz', 'get /openapi.json', 'get /docs'].includes(name),
        name
      );
      if (inPath.length > 0)
        for (const status of [400, 404, 503]) assert.ok(statuses.includes(status), `${name} ${status}`);
      assert.equal(tags.length, 1);
      assert.doesNotMatch(summary, /\.$/, name);
      for (const [status, { content }] of Object.entries(responses))
        if (Number(status) >= 400) assert.ok(content?.['application/json'], `${name} ${status}`);
    }
  });

  test('every reference leads somewhere', () => {
    const names = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    assert.ok(names.length > 20);
    for (const [, name = ''] of names) assert.ok(Object.hasOwn(document.components.schemas, name), name);
  });

  test('answers fit what it says of them', async () => {
    for (const [path, url] of [
      ['/health', '/health'],
      ['/livez', '/livez'],
      ['/readyz', '/readyz'],
      ['/status', '/status'],
      ['/status/{dbType}/{chain}/{network}', `/status/indexer/${AT}`],
      ['/status/{dbType}/{chain}/{network}', `/status/decoder/${AT}`],
      ['/status/{dbType}/{chain}/{network}', `/status/decoder/no/where`],
      ['/status/{dbType}/{chain}/{network}', `/status/none/no/where`],
      ['/debug/history', '/debug/history'],
      ['/catalog', '/catalog'],
      ['/validator-status', '/validator-status'],
      ['/transparency/{dbType}/{chain}/{network}/roots', `/transparency/indexer/${AT}/roots?limit=3`],
      ['/transparency/{dbType}/{chain}/{network}/roots', `/transparency/indexer/${AT}/roots?limit=x`],
      ['/transparency/{dbType}/{chain}/{network}/root/latest', `/transparency/indexer/${AT}/root/latest`]
    ] as const) {
      const answer = await app.inject(url);
      const named = document.paths[path]?.['get']?.responses[answer.statusCode]?.content?.['application/json']?.schema;
      assert.ok(named, `${url} ${answer.statusCode}`);
      const schema = named['$ref'] === undefined ? named : document.components.schemas['Error'];
      assert.ok(Compile(schema as TSchema).Check(answer.json()), `${url} ${answer.body}`);
    }
  });
});

describe('pages', async () => {
  const consoleFiles = await prepareConsoleFiles(readWebFiles());
  const { app } = await openFrontDoor({ config: { SYNC_API_KEY: 'k1' }, consoleFiles });
  const get = async (url: string) => app.inject(url);

  test('200 /docs without the key: every path, nothing from elsewhere, and what it loads is open too', async () => {
    const { headers, body } = await get('/docs');
    assert.match(String(headers['content-type']), /^text\/html/);
    const document: OpenApi = (await get('/openapi.json')).json();
    for (const path of Object.keys(document.paths)) assert.ok(body.includes(`<code>${path}</code>`), path);
    for (const name of Object.keys(document.components.schemas)) assert.ok(body.includes(name), name);
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none'; script-src 'self'; style-src 'self'/
    );
    assert.doesNotMatch(body, /https?:\/\/|\sstyle=|\son\w+=|<style/);
    const ids = [...body.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
    const loaded = [...body.matchAll(/<(?:link|script)[^>]* (?:href|src)="([^"]+)"/g)].map(([, path]) => path!);
    assert.equal(loaded.length, 3);
    for (const path of loaded) assert.equal((await get(path)).statusCode, 200, path);
  });
});

test('schemas as people read types', () => {
  const properties = {
    a: { type: 'integer' },
    b: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    c: { type: 'array', items: { type: 'object', properties: { d: { const: 'x' } }, required: ['d'] } },
    e: { type: 'object', patternProperties: { '^.*$': { type: 'number' } } },
    f: { enum: ['p', 'q'] },
    g: {}
  };
  assert.equal(
    schemaText({ type: 'object', required: ['a', 'c'], properties }),
    `{
  a: integer
  b?: string | null
  c: [{
    d: "x"
  }, …]
  e?: {
    [name]: number
  }
  f?: "p" | "q"
  g?: any
}`
  );
});
