import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { sized, uint64, varInt } from '../../../src/coin/raw/byte-writer.ts';

interface PrintedTransaction {
  readonly vin: readonly { readonly txid?: string; readonly vout?: number }[];
  readonly vout: readonly { readonly value: string; readonly scriptPubKey: { readonly hex: string } }[];
}

/** A node that answers as a real one, with one route more. */
interface SpentOutputsNode {
  readonly url: string;
  /** Ids of the transactions that were asked for one by one. */
  readonly asked: readonly string[];
  /** Blocks whose spent outputs were asked for. */
  readonly blocks: readonly string[];
}

/**
 * A real node behind a door that also serves what a block spends, as Bitcoin Core 30 does, which no test machine has: for each
 * transaction the outputs that it spends, none for the miner's.
 */
export async function startSpentOutputsNode({
  url,
  rpc
}: {
  readonly url: string;
  readonly rpc: NodeRpc;
}): Promise<SpentOutputsNode> {
  const asked: string[] = [];
  const blocks: string[] = [];
  const spentBy = async ({ vin }: PrintedTransaction) => {
    const spent = vin.flatMap(({ txid, vout }) => (txid === undefined ? [] : [{ txid, vout: vout! }]));
    const outputs = spent.map(async ({ txid, vout }) => {
      const { vout: all } = (await rpc.call('getrawtransaction', [txid, true])) as PrintedTransaction;
      const { value, scriptPubKey } = all[vout]!;
      return Buffer.concat([uint64(toBaseUnits(value)), sized(Buffer.from(scriptPubKey.hex, 'hex'))]);
    });
    return Buffer.concat([varInt(spent.length), ...(await Promise.all(outputs))]);
  };
  const server = createServer(async (request, response) => {
    const [, hash] = /^\/rest\/spenttxouts\/([0-9a-f]{64})\.bin$/.exec(request.url ?? '') ?? [];
    if (hash !== undefined) {
      blocks.push(hash);
      const { tx } = (await rpc.call('getblock', [hash, 2])) as { readonly tx: readonly PrintedTransaction[] };
      return void response.end(Buffer.concat([varInt(tx.length), ...(await Promise.all(tx.map(spentBy)))]));
    }
    const body = Buffer.concat(await request.toArray());
    if (request.method === 'POST') {
      const calls = [JSON.parse(body.toString())].flat() as { readonly method: string; readonly params: string[] }[];
      asked.push(...calls.flatMap(({ method, params }) => (method === 'getrawtransaction' ? params : [])));
    }
    const answer = await fetch(`${url}${request.url}`, {
      method: request.method!,
      headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
      ...(request.method === 'POST' ? { body } : {})
    });
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  });
  after(() => void server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, blocks };
}
