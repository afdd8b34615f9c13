import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import { type Account, openAccounts } from '../../../lab/loop/wallet.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { type SigningKey, signingKey } from '../../../src/consensus/auth-signature.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { hasCode } from '../../../src/errors.ts';
import { isPriceAction } from '../../../src/hub/federation/rounds/price-action.ts';
import { PublicationMaker } from '../../../src/hub/publishing/encoder.ts';
import { signWith } from '../../../src/hub/publishing/signer.ts';
import { startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { signPsbt } from '../../support/encoder/signer.ts';
import { krakenAnswer, startPriceService } from '../../support/hub/price-service.ts';
import { type RunningHub, runHub } from '../../support/hub/run-hub.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';
import { eventually, temporaryDirectory } from '../../support/sync/sync-process.ts';

/** A round of prices takes 20 s, a turn half of that. */
const INTERVAL_MS = 20_000;
const SIGNER = new URL('../../support/encoder/signer.ts', import.meta.url).pathname;
const MAGIC = DEFAULT_PROFILE.payloadMagic;

let node: PrivateLitecoind;
let encoder: TestEncoder;
let accounts: readonly Account[];
/** Keys of the hubs in ascending order: the owner of each stake is the account in the same place. */
const keys: readonly SigningKey[] = Array.from({ length: 4 }, (_, at) => signingKey(`0${at + 1}`.repeat(32))).toSorted(
  (a, b) => (a.pubkey < b.pubkey ? -1 : 1)
);
const seeds = new Map(
  Array.from({ length: 4 }, (_, at) => `0${at + 1}`.repeat(32)).map((seed) => [signingKey(seed).pubkey, seed])
);

before(async () => {
  ({ node } = await startTestLitecoind());
  encoder = await startTestEncoder(node);
  accounts = await openAccounts(node, 12, ['bech32', 'bech32', 'bech32', 'bech32', 'legacy']);
});
after(() => encoder.close());

/** Writes a program, and returns its path. */
function writeProgram(name: string, ...lines: readonly string[]): string {
  const path = join(temporaryDirectory('signer'), name);
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(path, 0o700);
  return path;
}

/** Writes a program that signs for an account. */
function writeSigner({ privateKey }: Account): string {
  const hex = Buffer.from(privateKey).toString('hex');
  const code = [
    `import { signPsbt } from '${SIGNER}';`,
    `import { readFileSync } from 'node:fs';`,
    `console.log(signPsbt(readFileSync(0, 'utf8').trim(), Buffer.from('${hex}', 'hex')));`
  ];
  const script = join(temporaryDirectory('signer'), 'sign.ts');
  writeFileSync(script, code.join('\n'));
  return writeProgram('sign', `exec ${process.execPath} --disable-warning=ExperimentalWarning ${script}`);
}

const makerOf = (account: Account, more: Partial<ConstructorParameters<typeof PublicationMaker>[0]> = {}) =>
  new PublicationMaker({
    encoder: encoder.url,
    apiKey: undefined,
    address: account.address,
    mostCost: 200_000,
    magic: MAGIC,
    sign: async (psbt) => signPsbt(psbt, account.privateKey),
    ...more
  });
const ACTION = `PRICE|0|7|${'a'.repeat(900)}`;
const failsFor = (reason: RegExp) => (caught: unknown) =>
  hasCode(caught, 'PUBLISHING_FAILED') && reason.test(String(caught.detail['reason']));

test('PUBLISHING_FAILED: a signer that fails, prints something else or takes the coins elsewhere; a cost above the bound', async () => {
  const [account, other] = accounts as [Account, Account];
  const { psbt } = await encoder.call<{ psbt: string }>('create_tx', { pubkey: account.address, data: 'SEND|0|A|1|b' });
  assert.equal(await signWith(writeSigner(account), psbt), signPsbt(psbt, account.privateKey));
  await assert.rejects(
    signWith(writeProgram('none', 'echo no coins >&2', 'exit 3'), psbt),
    failsFor(/ended with 3: no coins/)
  );
  await assert.rejects(signWith(writeProgram('word', 'echo signed'), psbt), failsFor(/printed no transaction as hex/));
  await assert.rejects(signWith('/nowhere/signer', psbt), failsFor(/ended with ENOENT/));
  assert.equal(await signWith(writeProgram('bare', 'test -z "$HOME" && echo 00'), psbt), '00', 'no variables');

  const wrong = makerOf(account, { sign: async () => signPsbt(psbt, account.privateKey) });
  await assert.rejects(wrong.make(ACTION, 'wrong'), failsFor(/does not carry the action/));
  const none = makerOf(account, { sign: async () => 'ff' });
  await assert.rejects(none.make(ACTION, 'none'), failsFor(/returned no transaction/));
  await assert.rejects(
    makerOf(account, { mostCost: 10 }).make(ACTION, 'dear'),
    failsFor(/ORACLE_PUBLISH_MAX_COST is 10/)
  );
  await assert.rejects(
    makerOf(other, { encoder: 'http://127.0.0.1:1' }).test(),
    failsFor(/ORACLE_PUBLISH_ENCODER, health/)
  );
  await makerOf(other).test();
  for (const id of ['wrong', 'none']) await makerOf(account).release(id);
});

test('a round is carried by two transactions, of a source with segwit and without it; they may be sent again', async () => {
  for (const account of [accounts[0]!, accounts[4]!]) {
    const maker = makerOf(account);
    const made = await maker.make(ACTION, `two ${account.form}`);
    assert.equal(made.transactions.length, 2);
    assert.equal(maker.read(made.transactions[1]!), ACTION);
    assert.equal(maker.read('ff'), null);
    await maker.send(made);
    await maker.send(made);
    const row = (await decodeBlock(node, (await node.mine(1))[0]!)).get(made.txid);
    assert.deepEqual([row?.data, row?.source], [ACTION, account.address]);
    await maker.send(made);
  }
});

test('four hubs publish each round once, in turn: where one cannot sign, the next one does', async () => {
  /** Actions of the chain by round, each with its source, as a ledger takes them: the first of a round counts. */
  const published = new Map<number, { readonly action: string; readonly source: string }[]>();
  let decoded = await node.height();
  const decodeNew = async () => {
    const height = await node.height();
    while (decoded < height) {
      const hash = String(await node.rpc.call('getblockhash', [decoded + 1]));
      for (const { data, source } of (await decodeBlock(node, hash)).values()) {
        const round = Number(data.split('|')[2]);
        published.set(round, [...(published.get(round) ?? []), { action: data, source: String(source) }]);
      }
      decoded += 1;
    }
    return height;
  };
  let decoding = Promise.resolve(0);
  /** Four hubs ask at once: one after the other, or blocks would be left out. */
  const catchUp = () => {
    decoding = decoding.then(decodeNew);
    return decoding;
  };
  const answers: Readonly<Record<string, (params: Readonly<Record<string, unknown>>) => Promise<object>>> = {
    getpriceround: async ({ round }) => {
      const latest_block_index = await catchUp();
      return { coin: 'BTC', action_index: published.has(Number(round)) ? 1 : null, block_index: 1, latest_block_index };
    },
    getownstake: async ({ pubkey }) => {
      const source = accounts[keys.findIndex((key) => key.pubkey === pubkey)]!.address;
      return { pubkey, stake: '1000', source, block_index: await node.height() };
    },
    ping: async () => ({ status: 'success' })
  };
  /** A source of prices, and an indexer of Bitcoin. */
  const world = await startPriceService(({ path }, response: ServerResponse) => {
    if (path !== '/') {
      response.end(JSON.stringify(krakenAnswer(64_000)));
      return;
    }
    response.req.on('data', async (asked: Buffer) => {
      const { id, method, params } = JSON.parse(String(asked));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: await answers[method]!(params) }));
    });
  });

  const directory = temporaryDirectory('publishing');
  const addrs = await Promise.all(keys.map(async () => `127.0.0.1:${await freePort()}`));
  const federation = join(directory, 'federation.json');
  const members = keys.map(({ pubkey }, at) => ({ pubkey, addr: addrs[at] }));
  writeFileSync(federation, JSON.stringify({ members, quorum: 'byzantine' }));
  const capabilities = join(directory, 'capabilities.json');
  writeFileSync(
    capabilities,
    JSON.stringify({ CAPABILITIES: { price: { MIN_STAKE: '1000' }, oracle_publish: { MIN_STAKE: '500' } } })
  );
  const epochStart = Date.now() + 2_000;
  const { host } = new URL(node.url);
  const hubs: RunningHub[] = await Promise.all(
    keys.map(({ pubkey }, at) =>
      runHub({
        P2P_VALIDATOR_ADDR: addrs[at]!,
        P2P_PORT: addrs[at]!.split(':')[1]!,
        P2P_RECONNECT_BASE: '200',
        P2P_RECONNECT_MAX: '1000',
        SIGNING_PRIVKEY_HEX: seeds.get(pubkey)!,
        HUB_FEDERATION: federation,
        HUB_CAPABILITY_CONFIG: capabilities,
        ORACLE_EPOCH_START: String(epochStart),
        ORACLE_ROUND_INTERVAL: String(INTERVAL_MS),
        PRICE_SOURCES: 'kraken',
        PRICE_SOURCE_KRAKEN_URL: world.url,
        CAPABILITY_INDEXERS: `BTC=${world.url}`,
        CAPABILITY_NODES: `BTC=http://${node.user}:${node.password}@${host}`,
        ORACLE_PUBLISH_ENCODER: encoder.url,
        ORACLE_PUBLISH_ADDRESS: accounts[at]!.address,
        // The third one passes each self-test, and cannot sign.
        ORACLE_PUBLISH_KEY_COMMAND: at === 2 ? writeProgram('broken', 'exit 1') : writeSigner(accounts[at]!)
      })
    )
  );
  const mining = setInterval(() => void node.mine(1), 4_000);
  try {
    for (const hub of hubs)
      await hub.call('pushchaintip', { coin: 'bitcoin', block_height: 800_000, block_time: 1_700_000_000 });
    type Round = { round: number; qualified: string[]; publishers: string[]; action: string | null };
    const roundsOf = async (): Promise<readonly Round[]> => (await hubs[0]!.call('getpricerounds')).json.result ?? [];
    const [, , broken] = keys;
    const firstOf = ({ round, publishers }: Round) => publishers[round % publishers.length];
    const addressOf = (pubkey: string) => accounts[keys.findIndex((key) => key.pubkey === pubkey)]!.address;
    // On a slow machine a hub may miss its turn, and the next one publishes.
    const isByFirst = (one: Round) => {
      const able = [one.round, one.round + 1]
        .map((turn) => one.publishers[turn % 4]!)
        .find((key) => key !== broken!.pubkey)!;
      return published.get(one.round)![0]!.source === addressOf(able);
    };
    let rounds: readonly Round[] = [];
    await eventually(
      'a round in the turn of the third hub, and one in that of another, are on the chain',
      240_000,
      async () => {
        rounds = (await roundsOf()).filter(({ round, publishers }) => publishers.length === 4 && published.has(round));
        const inTurn = rounds.filter(isByFirst);
        return [true, false].every((isBroken) => inTurn.some((one) => (firstOf(one) === broken!.pubkey) === isBroken));
      }
    );
    for (const round of rounds) {
      const [own, ...others] = published.get(round.round)!;
      assert.notEqual(own!.source, addressOf(broken!.pubkey), `round ${round.round}`);
      assert.deepEqual(others, [], 'once');
      const priced = { pair: 'BTC/USD', price: '64000.00000000' };
      const [, , , timestamp] = own!.action.split('|');
      const statement = {
        round: round.round,
        timestamp: Number(timestamp),
        btc_block_height: 800_000,
        pairs: [priced]
      };
      assert.ok(isPriceAction(own!.action, statement, round.qualified), own!.action);
    }
  } finally {
    clearInterval(mining);
    await Promise.all(hubs.map(({ stop }) => stop()));
  }
});
