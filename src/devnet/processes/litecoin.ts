import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { toBaseUnits, toDecimal } from '../../coin/amount.ts';
import { NodeRpc } from '../../coin/node/node-rpc.ts';
import { encodePayload } from '../../coin/payload/payload.ts';
import { findProgram } from '../../config/programs.ts';
import { hasCode, PlatformError } from '../../errors.ts';
import { freePort } from './free-port.ts';
import { spawnLogged } from './spawn-logged.ts';
import { stopChild } from './stop-child.ts';

/** Options of a private litecoind. */
export interface LitecoinOptions {
  /** Default: a free port. Set it to restart a stopped node at its port. */
  readonly rpcPort?: number;
  /** Default: generated. */
  readonly user?: string;
  readonly password?: string;
  /** Payload magic; default: that of the default profile. */
  readonly magic?: string;
  /** Whether the extension block activates at height 432. Mining then stops there until a payment into it waits. */
  readonly hasExtensionBlock?: boolean;
  /** Command-line options, which override the configuration file. */
  readonly flags?: readonly string[];
}

/** A payment with an action in an OP_RETURN output, and further outputs. */
interface Payment {
  readonly action: string;
  readonly rawData?: Uint8Array;
  readonly outputs?: readonly { readonly address: string; readonly amount: bigint }[];
  /** Address whose coin it spends, confirmed or not; default: any coin. */
  readonly from?: string;
}

/** A payment in the mempool. */
export interface SentPayment extends Payment {
  readonly txid: string;
  /** Address from which the first input spends. */
  readonly source: string;
}

/** A private litecoind on regtest: own data directory, one loopback port, no peers, a wallet. */
export interface PrivateLitecoind {
  readonly pid: number;
  readonly rpcPort: number;
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly rpc: NodeRpc;
  /** Returns a new bech32 address of the wallet. */
  newAddress(): Promise<string>;
  /**
   * Mines blocks with transactions of the mempool. @param address gets the rewards; default: a new one @returns hashes,
   * oldest first
   */
  mine(count: number, address?: string): Promise<readonly string[]>;
  /** Mines one block without transactions of the mempool. @returns its hash */
  mineEmpty(): Promise<string>;
  /** Mines until the wallet has this number of coins: each pays once per block. */
  fund(coins: number): Promise<void>;
  /**
   * Returns the addresses that `fund` gave coins, in byte order. A payment returns its change to the address of its
   * coin.
   */
  accounts(): Promise<readonly string[]>;
  /** Sends one payment to the mempool. @throws {PlatformError} NODE_REFUSED, also when the wallet has no coin left */
  pay(payment: Payment): Promise<SentPayment>;
  height(): Promise<number>;
  /**
   * Removes the newest blocks from the chain; their transactions return to the mempool. Then mine more blocks to other
   * addresses.
   */
  invalidate(depth: number): Promise<void>;
  /** Stops the node and waits until its process is gone. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const START_DEADLINE_MS = 60_000;
const FEE = 10_000n;
const LEAST_COIN = 1_000_000n;
const REFILL = 100_000_000n;
const MATURITY = 100;
const MOST_CONFIRMATIONS = 9_999_999;
/** Outputs per splitting transaction. */
const SPLIT = 200;
/** Label of the wallet's addresses that payments come from. */
const ACCOUNT = 'account';

/** Option that keeps the extension block inactive. */
const WITHOUT_MWEB = 'vbparams=mweb:9999999999:9999999999';

/**
 * Starts a private litecoind in a directory and opens its wallet, creating both the first time.
 *
 * @throws {PlatformError} PREREQUISITE_MISSING, PROCESS_EXITED
 */
export async function startLitecoind(directory: string, options: LitecoinOptions = {}): Promise<PrivateLitecoind> {
  const { rpcPort, magic, flags = [], user = 'platform', password = randomBytes(12).toString('hex') } = options;
  const program = findProgram('litecoind', ['/usr/bin/litecoind', '/usr/local/bin/litecoind']);
  const dataDirectory = join(directory, 'data');
  const logFile = join(directory, 'litecoind.log');
  mkdirSync(dataDirectory, { recursive: true });
  const port = rpcPort ?? (await freePort());
  writeFileSync(join(dataDirectory, 'litecoin.conf'), configuration(port, user, password, options), { mode: 0o600 });
  const child = spawnLogged(program, [`-datadir=${dataDirectory}`, '-printtoconsole=0', ...flags], logFile);
  const url = `http://127.0.0.1:${port}`;
  const rpc = new NodeRpc({ url, user, password, retries: 0 });
  try {
    await waitUntilReady(child, rpc, logFile);
    await openWallet(rpc);
  } catch (caught) {
    await stopChild(child, 'SIGKILL');
    throw caught;
  }
  return {
    pid: child.pid!,
    rpcPort: port,
    url,
    user,
    password,
    rpc,
    ...miner(rpc),
    ...payer(rpc, magic),
    stop: async (signal) => {
      await rpc.close();
      await stopChild(child, signal);
    }
  };
}

function configuration(port: number, user: string, password: string, { hasExtensionBlock }: LitecoinOptions): string {
  return [
    'regtest=1',
    'server=1',
    'txindex=1',
    'fallbackfee=0.0002',
    'datacarriersize=9000',
    'rest=1',
    ...(hasExtensionBlock ? [] : [WITHOUT_MWEB]),
    '[regtest]',
    'rpcbind=127.0.0.1',
    'rpcallowip=127.0.0.1',
    `rpcport=${port}`,
    `rpcuser=${user}`,
    `rpcpassword=${password}`,
    'listen=0',
    ''
  ].join('\n');
}

function miner(rpc: NodeRpc) {
  const height = async () => Number(await rpc.call('getblockcount'));
  const mine = async (count: number, address?: string) =>
    (await rpc.call('generatetoaddress', [count, address ?? (await newAddress(rpc))])) as string[];
  return {
    newAddress: () => newAddress(rpc),
    height,
    mine,
    mineEmpty: async () => {
      const { hash } = (await rpc.call('generateblock', [await newAddress(rpc), []])) as { hash: string };
      return hash;
    },
    fund: async (coins: number) => {
      const from = await newAddress(rpc);
      await mine(Math.max(0, MATURITY + 1 - (await height())) + Math.ceil(coins / SPLIT), from);
      if ((await findCoins(rpc)).length === 0) await mine(MATURITY, from); // all coins were spent
      for (let left = coins; left > 0; left -= SPLIT) await split(rpc, Math.min(SPLIT, left));
      await mine(1);
    },
    /** Only accounts with a coin: an earlier start may have ended between labelling and funding. */
    accounts: async () => {
      type Listed = { readonly address: string; readonly label?: string };
      const coins = (await rpc.call('listunspent', [0])) as Listed[];
      const funded = coins.filter(({ label }) => label === ACCOUNT).map(({ address }) => address);
      return [...new Set(funded)].sort();
    },
    invalidate: async (depth: number) => {
      const lowest = (await height()) - depth + 1;
      await rpc.call('invalidateblock', [await rpc.call('getblockhash', [lowest])]);
    }
  };
}

async function newAddress(rpc: NodeRpc, label = ''): Promise<string> {
  return String(await rpc.call('getnewaddress', [label, 'bech32']));
}

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly address: string;
  readonly amount: bigint;
}

/**
 * Returns coins of the wallet or of one address, largest first: confirmed ones, so that payments do not depend on each
 * other; without any, all.
 */
async function listCoins(rpc: NodeRpc, from?: string): Promise<readonly Coin[]> {
  type Listed = Omit<Coin, 'amount'> & { readonly amount: string; readonly confirmations: number };
  const coins = (
    (await rpc.call('listunspent', from === undefined ? [0] : [0, MOST_CONFIRMATIONS, [from]])) as Listed[]
  )
    .map((coin) => ({ ...coin, amount: toBaseUnits(coin.amount) }))
    .filter(({ amount }) => amount >= LEAST_COIN)
    .sort((a, b) => Number(b.amount - a.amount));
  const confirmed = coins.filter(({ confirmations }) => confirmations > 0);
  if (coins.length > 0) return confirmed.length > 0 ? confirmed : coins;
  throw new PlatformError('NODE_REFUSED', { reason: `${from ?? 'the wallet'} has no coin to pay with: fund it` });
}

async function findCoins(rpc: NodeRpc, from?: string): Promise<readonly Coin[]> {
  return await listCoins(rpc, from).catch((caught: unknown) => {
    if (hasCode(caught, 'NODE_REFUSED')) return [];
    throw caught;
  });
}

/** Returns the largest coin of an address. If payments have used up its coins, the wallet pays it first. */
async function coinAt(rpc: NodeRpc, address: string): Promise<Coin> {
  const [own] = await findCoins(rpc, address);
  if (own) return own;
  await rpc.call('sendtoaddress', [address, toDecimal(REFILL)]);
  return (await listCoins(rpc, address))[0]!;
}

function payer(rpc: NodeRpc, magic: string | undefined) {
  /** Coins that are not used yet. Listing takes the node a tenth of a second, so it is done only when none is left. */
  let coins: Coin[] = [];
  const payOnce = async (payment: Payment): Promise<SentPayment> => {
    const { action, rawData, outputs = [], from } = payment;
    if (coins.length === 0 && from === undefined) coins = [...(await listCoins(rpc))];
    const coin = from === undefined ? coins.shift()! : await coinAt(rpc, from);
    const payload = encodePayload(coin.txid, action, { rawData: rawData ?? null, ...(magic ? { magic } : {}) });
    const paid = outputs.reduce((sum, { amount }) => sum + amount, 0n);
    const change = coin.amount - paid - FEE - 10n * BigInt(payload.length);
    const isPaid = outputs.some(({ address }) => address === coin.address); // no address twice
    const changeAddress = isPaid ? await newAddress(rpc) : coin.address;
    const txid = await send(rpc, coin, [
      { data: Buffer.from(payload).toString('hex') },
      ...outputs.map(({ address, amount }) => ({ [address]: toDecimal(amount) })),
      { [changeAddress]: toDecimal(change) }
    ]);
    return { ...payment, txid, source: coin.address };
  };
  return {
    pay: async (payment: Payment): Promise<SentPayment> => {
      try {
        return await payOnce(payment);
      } catch (caught) {
        if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
        coins = []; // a reorg may have taken the coin
        return await payOnce(payment);
      }
    }
  };
}

async function split(rpc: NodeRpc, parts: number): Promise<void> {
  const coin = (await listCoins(rpc))[0]!;
  const share = (coin.amount - FEE * BigInt(parts + 1)) / BigInt(parts);
  const outputs: Record<string, string>[] = [];
  for (let part = 0; part < parts; part++) {
    outputs.push({ [await newAddress(rpc, ACCOUNT)]: toDecimal(share) });
  }
  await send(rpc, coin, outputs);
}

async function send(rpc: NodeRpc, { txid, vout }: Coin, outputs: readonly Record<string, string>[]): Promise<string> {
  const raw = await rpc.call('createrawtransaction', [[{ txid, vout }], outputs]);
  const { hex } = (await rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  return String(await rpc.call('sendrawtransaction', [hex]));
}

async function openWallet(rpc: NodeRpc): Promise<void> {
  const { wallets } = (await rpc.call('listwalletdir')) as { wallets: { name: string }[] };
  const loaded = (await rpc.call('listwallets')) as string[];
  if (loaded.length > 0) return;
  const method = wallets.some(({ name }) => name === 'platform') ? 'loadwallet' : 'createwallet';
  await rpc.call(method, ['platform'], undefined, START_DEADLINE_MS); // it makes thousands of keys
}

async function waitUntilReady(child: ChildProcess, rpc: NodeRpc, logFile: string): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    if (child.exitCode !== null) {
      const reason = 'litecoind ended at start';
      throw new PlatformError('PROCESS_EXITED', { reason, exitCode: child.exitCode, logFile });
    }
    try {
      await rpc.call('getblockchaininfo');
      return;
    } catch (caught) {
      if (performance.now() > deadline) throw PlatformError.from(caught, 'PROCESS_EXITED', { logFile });
      await sleep(50);
    }
  }
}
