import { Agent, get } from 'node:http';

/** Order to page through a script's coins. */
export interface PagerAsk {
  readonly type: 'page';
  /** Address of its first page. */
  readonly url: string;
}

/** Number of coins on the pages, and the time. */
export interface Paged {
  readonly coins: number;
  readonly wallMs: number;
}

const agent = new Agent({ keepAlive: true });
const NAME = Buffer.from('"txid":');
const CURSOR = /"nextCursor":"([0-9a-f]+)"/;
/** The cursor stands behind the coins. */
const END_BYTES = 1_000;

function fetchBytes(url: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const request = get(url, { agent }, (answer) => {
    const parts: Buffer[] = [];
    answer.on('data', (part: Buffer) => parts.push(part));
    answer.on('end', () =>
      answer.statusCode === 200 ? resolve(Buffer.concat(parts)) : reject(new Error(String(answer.statusCode)))
    );
  });
  request.on('error', reject);
  return promise;
}

/** Coins of a page: their names are counted, for the server is what is measured. */
function countCoins(page: Buffer): number {
  let count = 0;
  for (let at = page.indexOf(NAME); at >= 0; at = page.indexOf(NAME, at + NAME.length)) count++;
  return count;
}

// A process of its own, as the client of a service is.
process.on('message', async ({ url }: PagerAsk) => {
  const began = performance.now();
  let coins = 0;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: Buffer = await fetchBytes(`${url}${after && `&after=${after}`}`);
    coins += countCoins(page);
    after = CURSOR.exec(page.toString('latin1', page.length - END_BYTES))?.[1];
  }
  process.send?.({ coins, wallMs: performance.now() - began } satisfies Paged);
});
