import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { reasonOf } from '../../../src/explorer/pages/verdict.ts';
import { openBrowser } from '../../support/browser.ts';
import { createExplored } from '../../support/explorer-database.ts';
import { startExplorer } from '../../support/explorer-process.ts';
import { sql } from '../../support/sql.ts';
import { eventually } from '../../support/sync/sync-process.ts';

const MAX_PAGE_BYTES = 200_000;
let explored: Awaited<ReturnType<typeof createExplored>>;
let explorer: Awaited<ReturnType<typeof startExplorer>>;
before(async () => {
  explored = await createExplored();
  explorer = await startExplorer(explored, { EXPLORER_RATE_LIMIT_RPM: '100000' });
});
after(() => explored.store.close());

/** A page that fails the test by what it logs, and counts what it loads. */
async function openPage(options: Parameters<typeof openBrowser>[0]) {
  const page = await (await openBrowser(options)).newPage();
  const faults: string[] = [];
  const sizes = new Map<string, number>();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('response', async (response) => {
    const body = await response.body().catch(() => Buffer.alloc(0));
    sizes.set(response.url(), body.length);
  });
  return { page, faults, sizes };
}

const texts = (page: Page, selector: string) => page.locator(selector).allTextContents();

test('a person finds a token, its holder, an action and its block', async () => {
  const { page, faults, sizes } = await openPage({ colorScheme: 'light' });
  await page.goto(explorer.url, { waitUntil: 'networkidle' });
  assert.match((await page.locator('#tip').textContent()) ?? '', new RegExp(`^block ${explored.blocks.length}`));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  assert.ok(total > 1_000 && total < MAX_PAGE_BYTES, `${total} bytes`);

  await page.fill('input[name=q]', 'toka');
  await page.press('input[name=q]', 'Enter');
  await page.waitForURL('**/token/TOKA');
  assert.ok((await texts(page, 'dt')).includes('supply'));
  assert.equal(await page.locator('.activity rect').count(), 30);

  await page.locator('section', { hasText: 'holders' }).getByRole('link').first().click();
  await page.waitForURL('**/address/*');
  const address = decodeURIComponent(page.url().split('/').at(-1)!);
  const expected = await sql(
    explored.indexer,
    `SELECT i.tick, b.amount FROM balances b JOIN index_tickers i ON i.id = b.tick_id JOIN index_addresses a ON a.id = b.address_id
     WHERE a.address = '${address}' ORDER BY i.tick`
  );
  const balances = page
    .locator('section', { has: page.getByRole('heading', { name: 'Balances' }) })
    .locator('tbody tr');
  assert.deepEqual(
    (await balances.allTextContents()).map((row) =>
      expected.findIndex(({ tick, amount }) => row.startsWith(`${tick}${amount}`))
    ),
    expected.map((_, place) => place)
  );
  const first = await texts(page, 'table.actions td:first-child');
  await page.getByRole('link', { name: 'Older' }).click();
  await page.waitForURL('**cursor=**');
  const older = await texts(page, 'table.actions td:first-child');
  assert.ok(Number(older[0]) < Number(first.at(-1)), `${older[0]} after ${first.at(-1)}`);

  const [send] = await sql(
    explored.indexer,
    'SELECT d.action_index AS at, d.amount FROM debits d JOIN sends s ON s.action_index = d.action_index WHERE s.status_id = 1 LIMIT 1'
  );
  await page.goto(`${explorer.url}/action/${send?.['at']}`);
  assert.deepEqual(await texts(page, '.verdict'), ['Paid.']);
  assert.match((await texts(page, '.moves')).join(), new RegExp(`−${send?.['amount']}\\s`));
  const [refused] = await sql(
    explored.indexer,
    'SELECT s.action_index AS at, i.status FROM sends s JOIN index_statuses i ON i.id = s.status_id WHERE s.status_id > 1 LIMIT 1'
  );
  await page.goto(`${explorer.url}/action/${refused?.['at']}`);
  assert.deepEqual(await texts(page, '.verdict[data-state=failed]'), [
    `Refused because ${reasonOf(String(refused?.['status']))}.`
  ]);
  assert.ok((await texts(page, '.facts dd')).includes(String(refused?.['status'])));
  await page.locator('.facts a[href^="/block/"]').click();
  await page.waitForURL('**/block/*');
  const row = page
    .locator('section tbody tr')
    .filter({ has: page.getByRole('link', { name: String(refused?.['at']), exact: true }) });
  assert.equal(
    await row.locator('.verdict[data-state=failed]').textContent(),
    `refused: ${reasonOf(String(refused?.['status']))}`
  );
  assert.equal(await row.getAttribute('data-outcome'), 'refused');
  assert.deepEqual(faults, []);
});

test('a row of a list says whether its action counts, the amount, the token and the receiver', async () => {
  const { page } = await openPage({});
  const [send] = await sql(
    explored.indexer,
    `SELECT s.action_index AS at, t.tick, s.amount, d.address AS receiver, f.address AS sender, h.hash
     FROM sends s JOIN index_statuses i ON i.id = s.status_id JOIN index_tickers t ON t.id = s.tick_id
     JOIN index_addresses d ON d.id = s.destination_id JOIN actions a ON a.action_index = s.action_index
     JOIN index_addresses f ON f.id = a.source_id JOIN transactions x ON x.tx_index = a.tx_index
     JOIN index_transactions h ON h.id = x.tx_hash_id WHERE s.status_id = 1 ORDER BY s.action_index DESC LIMIT 1`
  );
  const { at, tick, amount, receiver, hash } = send!;
  for (const path of [`/transaction/${hash}`, `/address/${encodeURIComponent(String(receiver))}`]) {
    await page.goto(explorer.url + path, { waitUntil: 'networkidle' });
    const row = page
      .locator('section tbody tr')
      .filter({ has: page.getByRole('link', { name: String(at), exact: true }) })
      .filter({ has: page.locator('[data-name=Verdict]') });
    assert.deepEqual(await row.locator('[data-name=Verdict]').allTextContents(), ['paid'], path);
    assert.deepEqual(
      await row.locator('[data-name=Moves]').allTextContents(),
      [`${amount} ${tick} → ${receiver}`],
      path
    );
  }
});

test('the front page shows a new block as it comes, and takes back one that a reorg took', async () => {
  const { page, faults } = await openPage({});
  const newest = explored.blocks.at(-1)!;
  const first = page.locator('section', { hasText: 'Newest blocks' }).locator('.block').first();
  const shows = async (height: number) => {
    await first.getByRole('link', { name: String(height), exact: true }).waitFor();
    assert.equal(await page.locator('#tip').textContent(), `block ${height}`);
  };
  await page.goto(explorer.url, { waitUntil: 'networkidle' });
  await shows(newest.height);
  await explored.store.rollBack(newest.height);
  await shows(newest.height - 1);
  await explored.store.addBlocks([newest]);
  await shows(newest.height);
  assert.deepEqual((await first.getAttribute('class'))?.split(' '), ['block', 'new']);
  const rival = { ...newest, hash: 'd'.repeat(64), time: newest.time + 60 };
  await explored.store.rollBack(newest.height);
  await explored.store.addBlocks([rival]);
  const time = new Date(rival.time * 1_000).toISOString();
  await first.locator(`time[datetime="${time}"]`).waitFor({ timeout: 10_000 });
  await explored.store.rollBack(newest.height);
  await explored.store.addBlocks([newest]);
  assert.deepEqual(faults, []);
});

test('on a phone and in the dark nothing is cut off, and contrast comes from the theme', async () => {
  const { page, faults } = await openPage({ colorScheme: 'dark', width: 390 });
  const long = 'bcrt1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqc8gma6';
  await sql(explored.indexer, `UPDATE index_addresses SET address = '${long}' WHERE address = 'B'`);
  for (const path of ['/', '/address/A', '/token/TOKA', '/block/1', '/action/9', '/search?q=TOK']) {
    await page.goto(explorer.url + path, { waitUntil: 'load' });
    const width = await page.evaluate('document.documentElement.scrollWidth');
    assert.equal(width, 390, path);
    const cut = await page.evaluate(
      "[...document.querySelectorAll('td, td *, dd *')].filter((each) => each.getBoundingClientRect().right > 390).length"
    );
    assert.equal(cut, 0, `${cut} texts of ${path} are cut off`);
    assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(14, 18, 24)', path);
  }
  assert.deepEqual(faults, []);
});

test('a market has its price, both sides of the order book and its trades; a token its holders with shares; a block its confirmations', async () => {
  const { page } = await openPage({});
  await page.goto(explorer.url, { waitUntil: 'load' });
  await page.locator('section', { hasText: 'Markets' }).getByRole('link').first().click();
  await page.waitForURL('**/market/*/*');
  const heads = await texts(page, 'h1, h2');
  for (const head of [/^Market /, /^Bids/, /^Asks/, /^Last trades/])
    assert.ok(
      heads.some((text) => head.test(text)),
      `${head} in ${heads}`
    );
  await page.goto(`${explorer.url}/token/TOKA`, { waitUntil: 'load' });
  const shares = await texts(page, 'section:has(h2:text("holders")) td[data-name=Share]');
  assert.ok(shares.length > 0);
  for (const share of shares) assert.match(share, /^(?:< )?\d+\.\d\d %$/);
  await page.goto(`${explorer.url}/block/1`, { waitUntil: 'load' });
  const confirmations = page.locator('.facts > div', { hasText: 'confirmations' }).locator('dd');
  assert.equal(await confirmations.textContent(), String(explored.blocks.length));
});

test("a caller's input is text on a page, and a missing page has its status", async () => {
  for (const [path, status] of [
    ['/token/%3Cscript%3Ealert(1)%3C%2Fscript%3E', 404],
    ['/search?q=%3Cimg%20src%3Dx%3E', 200],
    ['/block/x', 400],
    ['/action/999999999', 404],
    ['/market/NOBODY/TRADES', 404],
    ['/address/A?cursor=x', 400],
    ['/search', 400]
  ] as const) {
    const answer = await fetch(explorer.url + path);
    const page = await answer.text();
    assert.equal(answer.status, status, path);
    assert.match(answer.headers.get('content-security-policy') ?? '', /script-src 'self'/);
    assert.doesNotMatch(page, /<script>|<img/, path);
    assert.match(page, /<h1/);
  }
  const unused = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
  const answer = await fetch(`${explorer.url}/search?q=${unused.toUpperCase()}`);
  assert.match(await answer.text(), /This is an address that has done nothing yet/);
});

test('texts of the ledger are text on a page: memos, descriptions, names, statuses', async () => {
  const markup = '<img src=x onerror=alert(1)>';
  const text = `'${markup}'`;
  const [sent] = await sql(
    explored.indexer,
    'SELECT s.action_index AS at, a.block_index AS height FROM sends s JOIN actions a ON a.action_index = s.action_index ORDER BY 1 LIMIT 1'
  );
  const [memo] = await sql(explored.indexer, 'SELECT COALESCE(MAX(id), 0) + 1 AS id FROM index_memos');
  await sql(
    explored.indexer,
    `INSERT INTO index_memos (id, memo) VALUES (${memo?.['id']}, ${text})`,
    `UPDATE sends SET memo_id = ${memo?.['id']} WHERE action_index = ${sent?.['at']}`,
    `UPDATE tokens t JOIN index_tickers i ON i.id = t.tick_id SET t.description = ${text} WHERE i.tick = 'TOKA'`,
    `UPDATE index_statuses SET status = ${text} WHERE status LIKE 'invalid%' ORDER BY id LIMIT 1`,
    `UPDATE index_tickers SET tick = ${text} WHERE tick = 'TOKB'`
  );
  await sleep(1_100); // reads share a snapshot for a moment
  let shown = 0;
  const named = encodeURIComponent(markup);
  for (const path of [
    '/',
    '/token/TOKA',
    `/token/${named}`,
    `/action/${sent?.['at']}`,
    `/block/${sent?.['height']}`,
    '/address/A',
    '/address/B',
    `/search?q=${named}`
  ]) {
    const page = await (await fetch(explorer.url + path)).text();
    assert.doesNotMatch(page, /<img/, path);
    if (page.includes('img src=x onerror')) shown++;
  }
  assert.ok(shown > 3, `${shown} pages show it`);
});

test('a token that is named like a block or a transaction does not take its place: a search lists what there is, facts first', async () => {
  const height = explored.blocks.length + 1;
  const [taken] = explored.blocks.flatMap(({ transactions }) => transactions);
  const coming = String(height + 1_000);
  const names = ['0007', taken!.hash, coming];
  const transactions = names.map((name, place) => ({
    hash: `${place}`.padStart(64, 'e'),
    source: `S${place}`,
    fee: 0,
    data: `ISSUE|0|${name}|1|0|0||1`
  }));
  await explored.store.addBlocks([{ height, time: 1_800_000_000, hash: 'f'.repeat(64), transactions }]);
  const search = async (text: string) => await fetch(`${explorer.url}/search?q=${text}`, { redirect: 'manual' });
  const kinds = async (text: string) => {
    const page = await (await search(text)).text();
    return [...page.matchAll(/<td[^>]*>(token|transaction|block|action|address)</g)].map(([, kind]) => kind);
  };
  await eventually('the tokens are there', async () => (await kinds(coming)).includes('token'));
  assert.deepEqual((await kinds('0007')).slice(0, 2), ['block', 'action']);
  assert.ok((await kinds('0007')).includes('token'));
  assert.deepEqual(await kinds(taken!.hash), ['transaction', 'token']);
  assert.deepEqual(await kinds(coming), ['token'], 'the block is still to come');
  assert.equal((await search('toka')).headers.get('location'), '/token/TOKA');
});

test('the front page shows what waits for a block, as text, and says that nothing has judged it', async () => {
  const markup = '<svg onload=alert(1)>';
  const hash = (digit: string) => digit.repeat(64);
  await sql(
    explored.decoder,
    `INSERT INTO mempool_transactions (tx_hash, source, data) VALUES ('${hash('d')}', '${markup}', 'BROADCAST|0|${markup}|1')`
  );
  const [waiting] = await sql(explored.decoder, 'SELECT COUNT(*) AS count FROM mempool_transactions');
  const page = await (await fetch(explorer.url)).text();
  const cell = /<li class="waiting">.*?<\/li>/s.exec(page)?.[0].replaceAll(/<[^>]*>/g, ' ');
  assert.match(cell ?? '', new RegExp(`Next\\s+${waiting?.['count']}\\s+waiting`));
  assert.match(page, /<section id="waiting">.*BROADCAST\|0\|&#60;svg onload=alert\(1\)&#62;/s);
  assert.doesNotMatch(page, /<svg onload/);
  await sql(explored.decoder, `DELETE FROM mempool_transactions WHERE tx_hash = '${hash('d')}'`);
});

test('the front page has tokens and markets in use, activity, and the counts of what there is, in words', async () => {
  const page = await (await fetch(explorer.url)).text();
  const partOf = (title: string) =>
    new RegExp(`<section[^>]*><h2>${title}</h2>.*?</section>`, 's').exec(page)?.[0] ?? '';
  assert.match(partOf('Newest blocks'), /<li class="block" data-fill="(?:10|[1-9])">/);
  assert.match(partOf('Tokens in use'), /href="\/token\/TOKA"/);
  assert.match(partOf('Markets'), /href="\/market\//);
  assert.match(partOf('Activity'), /<rect /);
  const counts = partOf('How much there is').replaceAll(/<[^>]*>/g, ' ');
  assert.match(counts, /\d+\s+payments/);
  assert.doesNotMatch(counts, /(?:^|\s)0\s+\w|_/);
  const [moved] = await sql(
    explored.indexer,
    'SELECT COUNT(*) AS holders FROM balances b JOIN index_tickers i ON i.id = b.tick_id WHERE i.tick = "TOKA"'
  );
  const row = /<tr><td data-name="Token"><a href="\/token\/TOKA">.*?<\/tr>/s.exec(page)?.[0] ?? '';
  assert.match(row, new RegExp(`data-name="Holders"[^>]*><span class="amount">${moved?.['holders']}<`));
});

test('the page of an address tells in and out by the rows of the ledger; what was refused changes nothing', async () => {
  const { page } = await openPage({});
  const [send] = await sql(
    explored.indexer,
    `SELECT d.action_index AS at, d.amount, f.address AS sender, i.tick FROM debits d
     JOIN index_addresses f ON f.id = d.address_id JOIN index_tickers i ON i.id = d.tick_id
     JOIN actions a ON a.action_index = d.action_index JOIN index_actions n ON n.id = a.action_id
     WHERE n.action = 'DESTROY' ORDER BY d.action_index DESC LIMIT 1`
  );
  await page.goto(`${explorer.url}/address/${encodeURIComponent(String(send?.['sender']))}`, { waitUntil: 'load' });
  const row = page.locator('.actions tbody tr').filter({
    has: page.getByRole('link', { name: String(send?.['at']), exact: true })
  });
  if ((await row.count()) > 0) assert.match((await row.locator('td[data-name="In or out"]').textContent()) ?? '', /^−/);
  const refused = page.locator('tr[data-outcome=refused] td[data-name="In or out"]');
  assert.ok((await refused.count()) > 0);
  for (const text of await refused.allTextContents()) assert.equal(text, 'no change');
  for (const text of await texts(page, 'tr[data-outcome=part] .verdict')) assert.match(text, /^refused in part: /);
});

test('times are absolute without a script, and ages with one; names are chosen by keys', async () => {
  const plain = await (await fetch(`${explorer.url}/block/1`)).text();
  assert.match(plain, /<time datetime="[^"]+" title="(\d{4}-\d\d-\d\d \d\d:\d\d UTC)">\1<\/time>/);
  const { page, faults } = await openPage({});
  await page.goto(`${explorer.url}/block/1`, { waitUntil: 'load' });
  await page.locator('.facts time', { hasText: /ago$/ }).waitFor();
  assert.match((await page.locator('.facts time').getAttribute('title')) ?? '', / UTC$/);
  const field = page.locator('header input[name=q]');
  await page.keyboard.press('/');
  await page.keyboard.type('tok');
  await page.locator('#names [role=option]').first().waitFor();
  assert.equal(await field.getAttribute('aria-expanded'), 'true');
  await page.keyboard.press('ArrowDown');
  assert.equal(await field.getAttribute('aria-activedescendant'), 'name-0');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#names').isVisible(), false);
  await page.keyboard.type('a');
  await page.locator('#names [role=option]', { hasText: 'TOKA' }).first().waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/token/TOKA**');
  assert.deepEqual(faults, []);
});

test('a missing page says what was looked for, and where to go on', async () => {
  const page = await (await fetch(`${explorer.url}/token/${encodeURIComponent('<b>"x')}`)).text();
  assert.match(page, /You looked for the token <code>&#60;b&#62;&#34;x<\/code>/);
  assert.match(page, /<input name="q"[^>]*value="&#60;b&#62;&#34;x">/);
  assert.match(page, /<a href="\/">The newest blocks/);
});

test('no page and what it loads is above 200 KB, each has one h1', async () => {
  const { page, sizes } = await openPage({});
  const [last] = await sql(explored.indexer, 'SELECT MAX(action_index) AS at FROM actions');
  for (const path of [
    '/',
    '/address/A',
    '/token/TOKA',
    '/block/1',
    `/action/${last?.['at']}`,
    '/search?q=TOK',
    '/block/x'
  ]) {
    sizes.clear();
    await page.goto(explorer.url + path, { waitUntil: 'networkidle' });
    const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    assert.ok(total > 1_000 && total < MAX_PAGE_BYTES, `${path}: ${total} bytes`);
    assert.equal(await page.locator('h1').count(), 1, path);
  }
});
