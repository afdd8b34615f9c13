import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FIATS } from '../../../src/hub/oracle/pairs.ts';
import { atEnd } from '../cleanup.ts';

/** Request to a source. */
interface PriceRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

/** A stand-in for a price service: it answers by real HTTP on the loopback as `answer` does. */
export async function startPriceService(answer: (request: PriceRequest, response: ServerResponse) => void) {
  const requests: PriceRequest[] = [];
  const server = createServer((request, response) => {
    const asked = { path: request.url ?? '', headers: request.headers };
    requests.push(asked);
    answer(asked, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Returns CoinGecko's answer for one price of a bitcoin in each fiat. */
export const coingeckoAnswer = (bitcoin: number) => ({
  bitcoin: Object.fromEntries(FIATS.map((fiat) => [fiat.toLowerCase(), bitcoin]))
});

/** Returns Kraken's answer for one price of a bitcoin in dollars. */
export const krakenAnswer = (bitcoin: number) => ({ error: [], result: { XXBTZUSD: { c: [String(bitcoin), '0.1'] } } });

/** Returns CoinMarketCap's answer for one price of a bitcoin in dollars. */
export const coinmarketcapAnswer = (bitcoin: number) => ({ data: { BTC: [{ quote: { USD: { price: bitcoin } } }] } });
