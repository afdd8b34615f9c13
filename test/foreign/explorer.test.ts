import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createExplored } from '../support/explorer-database.ts';
import { startExplorer } from '../support/explorer-process.ts';
import { sql } from '../support/sql.ts';
import { faultsOf, readFacts } from './shape.ts';

/** One path in use. */
interface PathFacts {
  readonly answer: 'list' | 'bare' | 'bytes';
  /** Words of `{TYPE}`. */
  readonly types?: string;
  /** Of a row of a list, else of the answer. */
  readonly fields?: string;
  /** Beside the rows of a list. */
  readonly top?: string;
  /** The field of a row that gives the order. */
  readonly order?: string;
  /** Rows of a page at most, where they are not 100. */
  readonly most?: number;
  /** It is a list without `{QUERY}/{TYPE}` too. */
  readonly whole?: true;
  /** The status of what nobody knows. */
  readonly unknown?: number;
  readonly method?: 'POST';
  /** The status here where it cannot be answered; docs/compatibility.md says why. */
  readonly status?: number;
  /** A query string without which it is refused. */
  readonly query?: string;
}

interface Facts {
  readonly paths: Readonly<Record<string, PathFacts>>;
  readonly action: string;
  readonly actions: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, string>>;
}

type Row = Readonly<Record<string, unknown>>;
type Answer = Row & { readonly data?: readonly Row[]; readonly total?: unknown; readonly code?: string };

const FACTS = readFacts<Facts>('explorer');
let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
/** What to ask for, by the words of `{TYPE}` and of other parts of paths. */
let subjects: Readonly<Record<string, readonly string[]>>;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '1000000' });
  const indexes = (await sql(explored.indexer, 'SELECT action_index FROM actions ORDER BY action_index')).map(
    ({ action_index }) => String(action_index)
  );
  const hashes = await sql(
    explored.indexer,
    'SELECT i.hash FROM transactions x JOIN index_transactions i ON i.id = x.tx_hash_id LIMIT 5'
  );
  const address = ['A', 'B', 'C'];
  const token = ['TOKA', 'TOKB', 'GAS'];
  subjects = {
    ...{ address, source: address, destination: address, oracle: address, delegator: address, delegate: address },
    ...{ token, tick: token, subtoken: ['TOKA'], block: explored.blocks.map(({ height }) => String(height)) },
    ...{ dispenser: indexes, contract: ['1'], poll: indexes, feed: ['1'], status: ['open', 'valid'], recent: ['all'] },
    ...{ tx_hash: hashes.map(({ hash }) => String(hash)), tx_index: ['1', '2'], name: ['hi'] }
  };
});
after(() => explored.store.close());

async function ask(
  path: string,
  method = 'GET'
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Answer }> {
  const response = await fetch(`${explorer.url}/RBTC/api${path}`, { method });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, headers: response.headers, body: isJson ? (JSON.parse(text) as Answer) : {} };
}

/** Fields that a row of a list always has. */
const ALWAYS = /\b(action_index|block_index|timestamp|action):([a-z|]+)(?= |$)/g;
/** The fields of a row: one that was refused has amounts as they were sent. */
function rowFields({ fields = '' }: PathFacts, { status }: Row): string {
  const filled = fields.replaceAll(ALWAYS, '$1:$2!');
  return typeof status === 'string' && status.startsWith('invalid') ? filled.replaceAll(':decimal', ':text') : filled;
}

/** The paths of a list: of each word of its types and each thing to ask for, and the whole. */
function pathsOf(path: string, { types, whole }: PathFacts): string[] {
  const typed = (types ?? '').split(' ').flatMap((type) => {
    if (type === '') return [];
    return (subjects[type] ?? ['1']).map((query) => path.replace('{QUERY}', query).replace('{TYPE}', type));
  });
  const plain = types === undefined ? [filled(path)] : [];
  return [...typed, ...plain, ...(whole ? [path.replace('/{QUERY}/{TYPE}', '')] : [])];
}

/** A path with something that is there in each of its other parts. */
function filled(path: string): string {
  const method = path.split('/')[1] ?? '';
  const query = { holders: 'TOKA', token: 'TOKA', block: '3', search: 'TOK', project: 'TOKA' }[method];
  const parts = {
    TICK1: 'TOKA',
    TICK2: 'TOKB',
    ADDRESS: 'A',
    TICK: 'TOKA',
    QUERY: query ?? (/^\/(?:balances|address|pubkey|oracle|staking|validator)/.test(path) ? 'A' : '1')
  };
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts[name as keyof typeof parts] ?? '1');
}

const byOrder = (rows: readonly Row[], field: string): number[] => rows.map((row) => Number(row[field]));

for (const [path, facts] of Object.entries(FACTS.paths).filter(([, { answer }]) => answer === 'list'))
  test(`${path}: rows, order and limit as clients in use read them`, async () => {
    let rows = 0;
    for (const asked of pathsOf(path, facts)) {
      const { status, body } = await ask(asked);
      assert.equal(status, 200, `${asked} ${JSON.stringify(body)}`);
      assert.ok(Array.isArray(body.data) && (body.total === null || Number.isInteger(body.total)), asked);
      assert.match(String(body['runtime']), /^\d+ms$/);
      assert.deepEqual(faultsOf(body, facts.top ?? ''), [], asked);
      for (const row of body.data)
        assert.deepEqual(faultsOf(row, rowFields(facts, row)), [], `${asked} ${JSON.stringify(row)}`);
      rows += body.data.length;
      assert.ok(body.data.length <= (facts.most ?? 100), asked);
      if (body.data.length < 2) continue;
      const one = await ask(`${asked}?limit=-5`);
      assert.deepEqual(one.body.data?.length, 1, `${asked} limit -5`);
      const most = await ask(`${asked}?limit=100000&page=x&sortorder=sideways`);
      assert.deepEqual(most.body.data, body.data, `${asked} limit 100000`);
      if (facts.order === undefined || !/index|^id$|amount/.test(facts.order)) continue;
      const places = byOrder(body.data, facts.order);
      assert.deepEqual(
        places,
        places.toSorted((a, b) => b - a),
        `${asked} is in descending order of ${facts.order}`
      );
      const ascending = byOrder((await ask(`${asked}?sortorder=asc`)).body.data ?? [], facts.order);
      assert.deepEqual(
        ascending,
        ascending.toSorted((a, b) => a - b),
        `${asked} in ascending order`
      );
    }
    if (FILLED.has(path.split('/')[1] ?? '')) assert.ok(rows > 0, `${path} had no row to look at`);
  });

/** Lists of which the filled database has rows. */
const FILLED = new Set([
  ...['addresses', 'airdrops', 'batches', 'broadcasts', 'dispensers', 'dispenses', 'files', 'issues', 'lists'],
  ...['messages', 'mints', 'orders', 'order_matches', 'sends', 'sleeps', 'swaps', 'actions', 'blocks'],
  ...['balances', 'holders', 'credits', 'debits', 'escrows', 'history', 'tokens', 'stakes', 'markets']
]);

for (const [path, facts] of Object.entries(FACTS.paths).filter(([, { answer }]) => answer !== 'list'))
  test(`${path}: ${facts.status ? `refused with ${facts.status}` : 'the bare record that clients in use read'}`, async () => {
    const [asked = ''] = pathsOf(path, facts);
    const { status, body } = await ask(facts.query ? `${asked}?${facts.query}` : asked, facts.method);
    if (facts.status !== undefined || (status === 404 && facts.unknown === 404)) {
      assert.equal(status, facts.status ?? 404, `${asked} ${JSON.stringify(body)}`);
      assert.match(`${body.code} ${String(body['error'])}`, /^[A-Z_]+ .{8}/);
      return;
    }
    assert.equal(status, 200, `${asked} ${JSON.stringify(body)}`);
    const fields = (facts.fields ?? '').replaceAll('{COIN}', 'RBTC');
    assert.deepEqual(faultsOf(body, fields), [], `${asked} ${JSON.stringify(body).slice(0, 2_000)}`);
  });

test('an action has what its kind has in use, in its record and in histories', async () => {
  const found = (await ask('/history/all/recent')).body.data ?? [];
  const kinds = new Map<string, Row>();
  for (const row of found) if (row['status'] === 'valid') kinds.set(String(row['action']), row);
  const seen: string[] = [];
  for (const [kind, row] of kinds) {
    const { body } = await ask(`/action/${String(row['action_index'])}`);
    const fields = FACTS.actions[kind];
    if (fields === undefined) continue;
    assert.deepEqual(faultsOf(body, `${FACTS.action} ${fields}`), [], `${kind} ${JSON.stringify(body)}`);
    const details = (FACTS.details[kind] ?? '').split(' ').filter((name) => name !== '');
    for (const name of details) assert.ok(name in (row['details'] as Row), `details of ${kind} have ${name}`);
    seen.push(kind);
  }
  assert.ok(seen.length > 8, seen.join());
});
