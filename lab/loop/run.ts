import { setImmediate as yieldTurn } from 'node:timers/promises';
import { readRawTransaction } from '../../src/coin/raw/raw-transaction.ts';
import { addressOf } from '../../src/coin/script/address.ts';
import { payTo } from '../../src/coin/script/pay-scripts.ts';
import type { PrivateLitecoind } from '../../src/devnet/processes/litecoin.ts';
import { ENCODINGS, type Encoding } from '../../src/encoder/transaction/encodings.ts';
import { LOOP_NETWORK, type TestEncoder } from '../../test/support/encoder/service.ts';
import { signPsbt } from '../../test/support/encoder/signer.ts';
import { decodeBlock } from './decode.ts';
import { type Account, openAccounts } from './wallet.ts';

export interface LoopReport {
  readonly asked: number;
  /** Accepted by the node, mined, and decoded as what was asked for. */
  readonly found: number;
  /** One line for each action that was not. */
  readonly faults: readonly string[];
  /** By encoding and form of the address. */
  readonly counts: Readonly<Record<string, number>>;
  /** The greatest difference between a fee and the rate asked for, as a part of the fee. */
  readonly worstFee: number;
  /** The transaction with that fee. */
  readonly worstFeeOf: string;
}

interface Created {
  readonly psbt: string;
  readonly encoding: Encoding;
  readonly fee: string;
  readonly revealPsbt?: string;
  readonly revealFee?: string;
  readonly carrierScripts?: readonly string[];
}

/** An action that waits to be mined. */
interface Asked {
  readonly data: string;
  readonly rawData: string | undefined;
  readonly source: string;
  readonly combination: string;
  /** Satoshis to the fee's address, and to each payee; 0: nothing. */
  readonly quote: number;
  readonly payments: readonly number[];
}

/** Addresses of the protocol's fees, and of payments beside an action: nobody has their keys. */
const [FEE_ADDRESS, PAYEE] = [7, 9].map((byte) =>
  addressOf(payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20, byte) }), LOOP_NETWORK.addresses)
) as [string, string];
const PER_BLOCK = 60;
/** Satoshis per 1000 virtual bytes; each action has its own. */
const RATES = [1_000, 3_300, 12_000, 50_000];

/** Asks for actions, signs, sends, mines and decodes them, over every encoding and form of address. */
export async function runLoop(
  node: PrivateLitecoind,
  encoder: TestEncoder,
  actions: number,
  log: (line: string) => void = () => undefined
): Promise<LoopReport> {
  const accounts = await openAccounts(node, PER_BLOCK);
  const run = new Loop(node, encoder, accounts);
  for (let done = 0; done < actions; ) {
    const end = Math.min(done + PER_BLOCK, actions);
    for (; done < end; done++) await run.act(done);
    await run.mine();
    log(`${run.report.found} of ${done}`);
    await yieldTurn();
  }
  return run.report;
}

class Loop {
  readonly #node: PrivateLitecoind;
  readonly #encoder: TestEncoder;
  readonly #accounts: readonly Account[];
  readonly #waiting = new Map<string, Asked>();
  readonly #faults: string[] = [];
  readonly #counts: Record<string, number> = {};
  #asked = 0;
  #found = 0;
  #worstFee = { off: 0, of: '' };

  constructor(node: PrivateLitecoind, encoder: TestEncoder, accounts: readonly Account[]) {
    this.#node = node;
    this.#encoder = encoder;
    this.#accounts = accounts;
  }

  get report(): LoopReport {
    const [asked, found, faults, counts] = [this.#asked, this.#found, this.#faults, this.#counts];
    return { asked, found, faults, counts, worstFee: this.#worstFee.off, worstFeeOf: this.#worstFee.of };
  }

  async act(number: number): Promise<void> {
    const encoding = ENCODINGS[number % ENCODINGS.length]!;
    const account = this.#accounts[Math.floor(number / ENCODINGS.length) % this.#accounts.length]!;
    const combination = `${encoding} ${account.form}`;
    const { data, rawData } = actionOf(number, encoding);
    const quote = number % 2 === 0 ? 10_000 + number : 0;
    const payments = Array.from({ length: number % 4 }, (_, at) => 20_000 + number + at);
    this.#asked += 1;
    try {
      const feePerKb = RATES[number % RATES.length]!;
      const request = {
        pubkey: account.address,
        compressedPubKey: account.publicKey,
        data,
        rawData,
        encoding,
        feePerKb,
        ...(quote > 0 && { feeQuote: { address: FEE_ADDRESS, amount: quote } }),
        customOutputs: payments.map((value) => ({ address: PAYEE, value })),
        options: { signerSupportsTapscript: true, signerSupportsScripts: true }
      };
      const txid = await this.#send(request, account);
      this.#waiting.set(txid, { data, rawData, source: account.address, combination, quote, payments });
    } catch (caught) {
      this.#faults.push(`${number} ${combination}: ${(caught as Error).message}`);
    }
  }

  /** Mines what waits and compares what the decoder reads with what was asked for. */
  async mine(): Promise<void> {
    const [hash] = await this.#node.mine(1);
    const rows = await decodeBlock(this.#node, hash!, LOOP_NETWORK, FEE_ADDRESS);
    for (const [txid, { data, rawData, source, combination, quote, payments }] of this.#waiting) {
      const row = rows.get(txid);
      const fees = row?.outputs.map(({ address, amount }) => `${address} ${amount}`) ?? [];
      const isPaid = fees.join() === (quote > 0 ? `${FEE_ADDRESS} ${quote}` : '');
      const isSame = row?.data === data && row.source === source && isPaid && (await this.#pays(txid, payments));
      if (isSame && Buffer.from(row.rawData ?? []).equals(Buffer.from(rawData ?? '', 'latin1'))) {
        this.#found += 1;
        this.#counts[combination] = (this.#counts[combination] ?? 0) + 1;
      } else this.#faults.push(`${combination}: decoded as ${row?.source} ${row?.data.slice(0, 60)}, fees ${fees}`);
    }
    this.#waiting.clear();
  }

  /** Whether a transaction pays its payee what was asked for. */
  async #pays(txid: string, payments: readonly number[]): Promise<boolean> {
    const bytes = Buffer.from(String(await this.#node.rpc.call('getrawtransaction', [txid])), 'hex');
    const paid = readRawTransaction(bytes).outputs.filter(
      ({ script }) => addressOf(script, LOOP_NETWORK.addresses) === PAYEE
    );
    return paid.map(({ amount }) => amount).join() === payments.join();
  }

  /** @returns the id of the transaction that says it */
  async #send(request: object & { readonly feePerKb: number }, account: Account): Promise<string> {
    const created = await this.#encoder.call<Created>('create_tx', request);
    const signed = await this.#signByWallet(created.psbt);
    const txid = await this.#broadcast(signed, created.fee, request.feePerKb);
    if (!created.carrierScripts) return txid;
    const { psbt, fee } = created.revealPsbt
      ? { psbt: created.revealPsbt, fee: created.revealFee! }
      : await this.#encoder.call<Created>('create_tx', { ...request, p2shHash: txid, p2shHex: signed });
    // The wallet of a node signs only scripts of the usual forms.
    return await this.#broadcast(signPsbt(psbt, account.privateKey), fee, request.feePerKb);
  }

  async #signByWallet(psbtHex: string): Promise<string> {
    const { rpc } = this.#node;
    // Without key origins: the wallet would write them for the data of a bare multisig, and then find that it is no key.
    const base64 = Buffer.from(psbtHex, 'hex').toString('base64');
    const { psbt } = (await rpc.call('walletprocesspsbt', [base64, true, 'ALL', false])) as { psbt: string };
    const { hex, complete } = (await rpc.call('finalizepsbt', [psbt])) as { hex: string; complete: boolean };
    if (!complete) throw new Error('the wallet did not sign everything');
    return hex;
  }

  async #broadcast(hex: string, fee: string, feePerKb: number): Promise<string> {
    const { rpc } = this.#node;
    const [tested] = (await rpc.call('testmempoolaccept', [[hex]])) as {
      readonly allowed: boolean;
      readonly 'reject-reason'?: string;
    }[];
    if (!tested?.allowed) throw new Error(`refused: ${tested?.['reject-reason']}`);
    const { txid } = await this.#encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: hex });
    const { vsize } = (await rpc.call('getmempoolentry', [txid])) as { readonly vsize: number };
    const wanted = (feePerKb * vsize) / 1000;
    const off = Math.abs(Number(fee) - wanted) / wanted;
    if (off > this.#worstFee.off) this.#worstFee = { off, of: `${fee} satoshis for ${vsize} bytes at ${feePerKb}` };
    return txid;
  }
}

/** Returns an action of any length that the encoding can carry, some with raw data. */
function actionOf(number: number, encoding: Encoding): { readonly data: string; readonly rawData: string | undefined } {
  const most = encoding === 'OP_RETURN' ? 40 : 20 + ((number * 397) % 2_000);
  const data = `BROADCAST|0|${number} ${'päivää '.repeat(300)}`.slice(0, 12 + (most >> 1)).trimEnd();
  const hasBytes = encoding !== 'OP_RETURN' && number % 3 === 0;
  return { data, rawData: hasBytes ? String.fromCharCode(0, 255, number & 255).repeat(1 + (number % 200)) : undefined };
}
