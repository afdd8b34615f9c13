import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/devnet/free-port.ts';
import { decodeBlock } from '../loop/decode.ts';
import { startTestLitecoind } from '../support/litecoin.ts';
import { startProgram } from '../support/service-process.ts';
import { eventually } from '../support/sync/sync-process.ts';

const DEADLINE_MS = 60_000;
const path = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));

test('the example wallet issues a token and sends it, by the encoder as an operator starts it', async () => {
  const { node } = await startTestLitecoind();
  await node.fund(2);
  const port = String(await freePort());
  startProgram(path('scripts/platform-node'), ['encoder', '--no-guardian'], {
    NETWORK: 'RLTC',
    NODE_PORT: String(node.rpcPort),
    NODE_USER: node.user,
    NODE_PASSWORD: node.password,
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: port,
    ENCODER_RATE_LIMIT_RPM: '10000'
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually('the encoder is ready', DEADLINE_MS, async () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  );
  const receiver = await node.newAddress();
  const wallet = startProgram(path('scripts/run-node'), [path('examples/wallet.ts'), url, receiver]);
  const said = async (pattern: RegExp): Promise<RegExpExecArray> => {
    await eventually(`the wallet prints ${pattern}`, DEADLINE_MS, async () => {
      assert.ok([null, 0].includes(wallet.child.exitCode), wallet.output());
      return pattern.test(wallet.output());
    });
    return pattern.exec(wallet.output())!;
  };
  const [, address] = await said(/^pay some coins to (rltc1\w+)$/m);
  await node.rpc.call('sendtoaddress', [address, '1']);
  await node.mine(1);
  for (const action of [/^ISSUE\|0\|WALLET\|.*\n {2}in (\w{64})/m, /^SEND\|0\|WALLET\|5\|.*\n {2}in (\w{64})/m]) {
    const [, txid] = await said(action);
    const [hash] = await node.mine(1);
    const row = (await decodeBlock(node, hash!)).get(txid!);
    assert.ok(row, `the decoder finds no action in ${txid}`);
    assert.equal(row.source, address);
    assert.match(row.data, /^(?:ISSUE|SEND)\|0\|WALLET\|/);
  }
  await eventually('the wallet ends', DEADLINE_MS, async () => wallet.child.exitCode === 0);
});
