import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema, OpenApi, Operation, Parameter } from '../../../src/service/openapi.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import fc from '../../support/fast-check.ts';

let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
let document: OpenApi;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '1000000' });
  document = (await (await fetch(`${explorer.url}/openapi.json`)).json()) as OpenApi;
});
after(() => explored.store.close());

/** What the ledger knows, numbers about its size, and anything. */
const word = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('A', 'B', 'C', 'TOKA', 'TOKB', 'GAS', 'toka', 'TOK*', '1', '2', '7', '12') },
  { weight: 1, arbitrary: fc.constant('1f0'.padStart(64, 'c')) }, // a transaction of the first block
  { weight: 2, arbitrary: fc.nat(200).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '%',
      '/',
      '..',
      "'",
      '\\',
      '_',
      '*',
      '0'.repeat(64),
      '9'.repeat(16),
      '-1',
      '🦊',
      '\u0000'
    )
  },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }) }
);

/** Mostly what a schema allows. */
function anyValue({ enum: words, pattern }: JsonSchema): fc.Arbitrary<string> {
  if (Array.isArray(words)) return fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...(words as string[])) }, word);
  if (typeof pattern !== 'string') return word;
  return fc.oneof({ weight: 9, arbitrary: fc.stringMatching(new RegExp(pattern), { maxLength: 6 }) }, word);
}

/** A path with its query string, made from what the document says of its parameters. */
function anyUrl(path: string, parameters: readonly Parameter[]): fc.Arbitrary<string> {
  const parts = parameters.map(({ name, in: place, schema, required }) => {
    const value = name === 'coin' ? fc.constantFrom('RBTC', 'rbtc') : anyValue(schema);
    const given = required ? value : fc.option(value, { nil: undefined, freq: 2 });
    return given.map((text) => ({ name, place, text }));
  });
  return fc.tuple(...parts).map((given) => {
    const query = given.flatMap(({ name, place, text }) =>
      place === 'query' && text !== undefined ? [[name, text]] : []
    );
    const filled = given.reduce(
      (url, { name, place, text }) =>
        place === 'path' ? url.replace(`{${name}}`, () => encodeURIComponent(text!)) : url,
      path
    );
    return query.length === 0 ? filled : `${filled}?${new URLSearchParams(query as [string, string][])}`;
  });
}

const RUNS = 25;

test('a client made from /openapi.json finds no server error and no answer that breaks its schema', async () => {
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'openapi', ...document }, 'openapi');
  const validatorOf = (operation: Operation, status: number) => {
    const schema = operation.responses[status]?.content?.['application/json']?.schema;
    assert.ok(schema, `${operation.operationId} says nothing of ${status}`);
    const reference = typeof schema['$ref'] === 'string' ? { $ref: `openapi${schema['$ref']}` } : schema;
    return ajv.compile(reference);
  };
  const operations = Object.entries(document.paths).flatMap(([path, { get }]) =>
    get && path.startsWith('/{coin}/api/') ? [[path, get] as const] : []
  );
  assert.ok(operations.length > 40, `${operations.length} operations`);
  for (const [path, operation] of operations) {
    const validators = new Map<number, ReturnType<typeof validatorOf>>();
    let next: string | null | undefined;
    const ask = async (url: string) => {
      const response = await fetch(explorer.url + url);
      const body = (await response.json()) as { next?: string | null };
      const { status } = response;
      assert.ok(status < 500, `${status} ${url} ${JSON.stringify(body)}`);
      const validate = validators.get(status) ?? validatorOf(operation, status);
      validators.set(status, validate);
      assert.ok(validate(body), `${url} ${JSON.stringify(validate.errors)} ${JSON.stringify(body).slice(0, 500)}`);
      next = body.next;
    };
    await fc.assert(
      fc.asyncProperty(anyUrl(path, operation.parameters ?? []), async (url) => {
        await ask(url);
        const [bare, text = ''] = url.split('?');
        const query = new URLSearchParams(text);
        query.delete('page');
        if (next) await ask(`${bare}?${new URLSearchParams([...query, ['cursor', next]])}`);
      }),
      { numRuns: RUNS }
    );
    assert.ok(validators.has(200), `${path} had no answer that is well`);
  }
});
