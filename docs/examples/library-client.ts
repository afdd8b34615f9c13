// Follows an indexer from a program of your own, and verifies the last block of its newest epoch.
// Run: SYNC_API_KEY=... node library-client.ts http://127.0.0.1:3006 bitcoin mainnet
import {
  type EpochRoot,
  follow,
  type InclusionProofRecord,
  type SnapshotBody,
  verifyBlock
} from 'platform-node/client';

const [server = '', chain = '', network = ''] = process.argv.slice(2);
const key = process.env['SYNC_API_KEY'] ?? '';
const path = `indexer/${chain}/${network}`;

async function get<T>(address: string): Promise<T> {
  const response = await fetch(`${server}/${address}`, {
    headers: { authorization: `Bearer ${key}` },
    redirect: 'error'
  });
  if (!response.ok) throw new Error(`${address} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const { end_block, merkle_root } = await get<EpochRoot>(`transparency/${path}/root/latest`);
const proof = await get<InclusionProofRecord>(`transparency/${path}/proof/${end_block}`);
const log = await get<{ results: (Parameters<typeof verifyBlock>[0] & { block_index: number })[] }>(
  `transparency/${path}/roots`
);
const logged = log.results.find(({ block_index }) => block_index === end_block);
console.log(`block ${end_block} is in its epoch: ${logged && verifyBlock(logged, proof, merkle_root)}`);

let height = -1;
for await (const message of follow({ server, database: { dbType: 'indexer', chain, network }, key })) {
  if (message.type === 'missed') {
    const snapshot = await get<SnapshotBody>(`snapshot/${path}${height < 0 ? '' : `/since/${height}`}`);
    height = snapshot.block_height; // a real client writes the rows of snapshot.tables
    console.log(`snapshot at block ${height}`);
  } else if (message.type === 'reorg') height = Math.min(height, message.block_index - 1);
  else if (message.block_index > height) {
    height = message.block_index;
    console.log(`block ${height}`);
  }
}
