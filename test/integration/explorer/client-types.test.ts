import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clientTypes, explorerDocument } from '../../../scripts/documents/explorer-client.ts';
import { docComment, schemaType } from '../../../scripts/documents/schema-type.ts';
import { startProgram } from '../../support/service-process.ts';

const path = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'platform-client-'));
after(() => rmSync(directory, { recursive: true, force: true }));

/** Uses of the types that must fail; the compiler names each that does not. */
const WRONG = `import createClient from 'openapi-fetch';
import type { components, paths } from './explorer-api.ts';

const explorer = createClient<paths, 'application/json'>({ baseUrl: '' });
const params = { path: { coin: 'LTC', query: 'a' } };
const { data } = await explorer.GET('/{coin}/api/balances/{query}', { params });
// @ts-expect-error no balance has such a field
console.log(data?.data[0]?.nothing);
// @ts-expect-error an amount is a text
const amount: number | undefined = data?.data[0]?.amount;
// @ts-expect-error there is no such path
await explorer.GET('/{coin}/api/nothing/{query}', { params });
// @ts-expect-error the path needs an address
await explorer.GET('/{coin}/api/balances/{query}', { params: { path: { coin: 'LTC' } } });
// @ts-expect-error an error has a code
const fault: components['schemas']['Error'] = { error: '' };
console.log(amount, fault);
`;

test('the types that npm run client makes compile, fit the example, and refuse wrong uses', async () => {
  writeFileSync(join(directory, 'explorer-api.ts'), clientTypes(await explorerDocument()));
  writeFileSync(join(directory, 'wrong.ts'), WRONG);
  copyFileSync(path('docs/examples/holdings.ts'), join(directory, 'holdings.ts'));
  symlinkSync(path('node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ extends: path('tsconfig.json'), include: ['*.ts'] })
  );
  const { exited, output } = startProgram(path('scripts/run-node'), [
    path('node_modules/typescript/bin/tsc'),
    '-p',
    directory
  ]);
  assert.equal(await exited, 0, output());
});

test('the type of a schema has its fields, words, references and comments', () => {
  const schema = {
    type: 'object',
    required: ['tick', 'state'],
    properties: {
      tick: { anyOf: [{ type: 'string' }, { type: 'null' }], description: 'a name, or */ none' },
      state: { enum: ['open', 'closed'] },
      places: { type: 'integer' },
      last: { $ref: '#/components/schemas/Error' },
      rows: { type: 'array', items: { type: 'object', additionalProperties: { type: 'boolean' } } },
      open: { type: 'object' },
      one: { const: 1 },
      rest: {}
    }
  };
  assert.equal(
    schemaType(schema),
    `{
  /** a name, or *\\/ none */
  "tick": string | null;
  "state": "open" | "closed";
  "places"?: number;
  "last"?: components['schemas']['Error'];
  "rows"?: Array<{
    [name: string]: boolean;
  }>;
  "open"?: {
    [name: string]: unknown;
  };
  "one"?: 1;
  "rest"?: unknown;
}`
  );
  assert.equal(docComment(undefined, '  '), '');
  assert.throws(() => schemaType({ type: 'tuple' }), /no TypeScript type for \{"type":"tuple"\}/);
});
