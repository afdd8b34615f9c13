import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonSchema, OpenApi, Operation, Parameter } from '../../src/service/schema/openapi.ts';
import fc from './fast-check.ts';
import { undescribed } from './published-paths.ts';

/** Words to ask for: names that the ledger knows, numbers about its size, and any text. */
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

/** A part of a path. Dots alone would be taken for a way up by who sends it, and name another operation. */
const partOf = (text: string): string => (/^\.{1,2}$/.test(text) ? '...' : encodeURIComponent(text));

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
      (url, { name, place, text }) => (place === 'path' ? url.replace(`{${name}}`, () => partOf(text!)) : url),
      path
    );
    return query.length === 0 ? filled : `${filled}?${new URLSearchParams(query as [string, string][])}`;
  });
}

/** An indexer answers these; the explorers of tests name none, and say so with 501. */
const OF_INDEXER = /\/(?:feequote|feeschedule|oraclefeequote|preflight)$/;

/** No question has to find something: no validator signs, no contract runs, nobody bets; polls are few, and a range takes two heights. */
const REFUSED =
  /\/(?:proof\/.*|verify|range|(?:contract|bet_feed|xcall|attestation|anchor|checkpoint|validator|poll)\/\{query\})$/;

/** Results of a check. */
interface Checked {
  /** Operations that had no answer of status 200. */
  readonly unanswered: ReadonlySet<string>;
  readonly requests: number;
  /** Number of answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
}

interface Check {
  readonly url: string;
  /** Made-up requests of each operation. */
  readonly runs: number;
  readonly seed?: number;
  /** In milliseconds of the process's clock; what is not asked by then is left out. */
  readonly until?: number;
}

/**
 * Asks every operation of `/openapi.json` below `/{coin}/api/` for what its parameters allow, and for what they do not.
 *
 * @throws {AssertionError} for a status of 500 and above, for an answer that breaks its schema, and for a path of clients in use that the
 * document does not describe
 */
export async function checkByDescription({
  url,
  runs,
  seed,
  until = Number.POSITIVE_INFINITY
}: Check): Promise<Checked> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'openapi', ...document }, 'openapi');
  const validatorOf = (operation: Operation, status: number) => {
    const schema = operation.responses[status]?.content?.['application/json']?.schema;
    assert.ok(schema, `${operation.operationId} says nothing of ${status}`);
    const reference = typeof schema['$ref'] === 'string' ? { $ref: `openapi${schema['$ref']}` } : schema;
    return ajv.compile(reference);
  };
  const operations = Object.entries(document.paths).flatMap(([path, { get }]) =>
    get && path.startsWith('/{coin}/api/') && !/\/(?:websocket|stream|raw)$/.test(path) ? [[path, get] as const] : []
  );
  assert.ok(operations.length > 40, `${operations.length} operations`);
  assert.deepEqual(undescribed(document), [], 'published paths that the description leaves out');
  const statuses = new Map<number, number>();
  const unanswered = new Set(operations.map(([path]) => path));
  let requests = 0;
  for (const [path, operation] of operations) {
    if (performance.now() > until) break;
    const validators = new Map<number, ReturnType<typeof validatorOf>>();
    let next: string | null | undefined;
    const ask = async (asked: string) => {
      const response = await fetch(url + asked);
      const body = (await response.json()) as { next?: string | null };
      const { status } = response;
      requests++;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      assert.ok(
        status < 500 || (status === 501 && OF_INDEXER.test(path)),
        `${status} ${asked} ${JSON.stringify(body)}`
      );
      const validate = validators.get(status) ?? validatorOf(operation, status);
      validators.set(status, validate);
      assert.ok(validate(body), `${asked} ${JSON.stringify(validate.errors)} ${JSON.stringify(body).slice(0, 500)}`);
      next = body.next;
    };
    await fc.assert(
      fc.asyncProperty(anyUrl(path, operation.parameters ?? []), async (asked) => {
        await ask(asked);
        const [bare, text = ''] = asked.split('?');
        const query = new URLSearchParams(text);
        query.delete('page');
        if (next) await ask(`${bare}?${new URLSearchParams([...query, ['cursor', next]])}`);
      }),
      { numRuns: runs, ...(seed === undefined ? {} : { seed }) }
    );
    if (validators.has(200) || OF_INDEXER.test(path) || REFUSED.test(path)) unanswered.delete(path);
  }
  return { unanswered, requests, statuses };
}
