import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';

/** A peer that breaks the contract on purpose: what it answers is the test's to say. */
export interface HostileSource {
  readonly url: string;
  readonly requests: readonly {
    readonly path: string;
    readonly range: string | undefined;
    readonly authorization: string | undefined;
  }[];
}

/** Starts one on a free port; it ends with the test file. */
export async function startHostileSource(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void
): Promise<HostileSource> {
  const requests: HostileSource['requests'][number][] = [];
  const server = createServer((request, response) => {
    const { range, authorization } = request.headers;
    requests.push({ path: request.url ?? '', range, authorization });
    answer(request, response, requests.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
