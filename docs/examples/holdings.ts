// Prints what an address holds, page by page. Its types are a file of each release, explorer-api.ts, or made by
// `npm run client`: copy dist/explorer-api.ts beside this file.
// Run: scripts/run-node docs/examples/holdings.ts http://127.0.0.1:8080 LTC ltc1q...
import createClient from 'openapi-fetch';
import type { paths } from './explorer-api.ts';

const [server = 'http://127.0.0.1:8080', coin = 'LTC', address = ''] = process.argv.slice(2);
const explorer = createClient<paths, 'application/json'>({ baseUrl: server });

async function readPage(cursor: { readonly cursor?: string }) {
  const { data, error, response } = await explorer.GET('/{coin}/api/balances/{query}', {
    params: { path: { coin, query: address }, query: { limit: '100', ...cursor } }
  });
  if (!data) throw new Error(`${error?.code}: ${error?.error}`);
  for (const { tick, amount } of data.data) console.log(`${amount} ${tick}`);
  if (data.next === null) console.log(`at block ${response.headers.get('x-block-height')}`);
  return data.next;
}

let next = await readPage({});
while (next !== null) next = await readPage({ cursor: next });
