import { findCarried } from '../../coin/payload/lanes.ts';
import { readFrame } from '../../coin/payload/payload.ts';
import { readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import { PlatformError } from '../../errors.ts';
import { callMethod, reasonOf } from '../../service/rpc/call-method.ts';
import type { Publication } from '../federation/node/price-publishing.ts';

/** Ways of a hub that makes transactions by an encoder of its own, and has a program sign them. */
interface MakerOptions {
  /** Base URL of the encoder. */
  readonly encoder: string;
  readonly apiKey: string | undefined;
  /** Address whose coins pay: the ledger takes the action for its owner's. */
  readonly address: string;
  /** Satoshis that one round may cost at most. */
  readonly mostCost: number;
  /** Characters before every payload. */
  readonly magic: string;
  /** Returns a signed transaction. @param psbt  hex  @throws {PlatformError} PUBLISHING_FAILED */
  readonly sign: (psbt: string) => Promise<string>;
}

/** Fields of an answer that was not checked yet. */
type Fields = Readonly<Record<string, unknown>>;

const PATIENCE_MS = 10_000;
/** Encodings whose action is in a second transaction. */
const IN_TWO = ['TAPROOT', 'P2WSH', 'P2SH'];

/** Makes and sends the transactions that publish rounds. */
export class PublicationMaker {
  readonly #options: MakerOptions;

  constructor(options: MakerOptions) {
    this.#options = options;
  }

  /** Address that pays. */
  get address(): string {
    return this.#options.address;
  }

  /**
   * Has the transactions of an action made and signed, and checks that they carry it. Nothing is sent.
   *
   * @param id  the same again reserves no other coins
   * @throws {PlatformError} PUBLISHING_FAILED
   */
  async make(action: string, id: string): Promise<Publication> {
    const { address: pubkey, sign } = this.#options;
    const request = { pubkey, data: action, encoding: 'AUTO', options: { signerSupportsScripts: true } };
    const first = await this.#create({ ...request, request_id: id });
    const funding = await sign(textOf(first['psbt']));
    if (!IN_TWO.includes(String(first['encoding']))) return this.#checked([funding], action);
    // A source without segwit: signatures decide the id of the first one, so the second one is made by its hex.
    const second = first['revealPsbt'] === undefined ? await this.#create({ ...request, p2shHex: funding }) : first;
    return this.#checked([funding, await sign(textOf(second['revealPsbt'] ?? second['psbt']))], action);
  }

  /** Sends the transactions, those that were sent before too. @throws {PlatformError} PUBLISHING_FAILED */
  async send({ transactions }: Publication): Promise<void> {
    for (const tx_hex of transactions) await this.#ask('broadcast_tx', { tx_hex });
  }

  /** Frees the coins of transactions that are not sent. */
  async release(id: string): Promise<void> {
    await this.#ask('release_tx', { request_id: id });
  }

  /** Returns the action that a transaction carries, as it is written there; null for none. @param hex  of the transaction */
  read(hex: string): string | null {
    try {
      const transaction = readRawTransaction(Buffer.from(hex, 'hex'));
      const carried = findCarried(transaction, { magic: this.#options.magic, isEnvelopeActive: true });
      return (carried && readFrame(carried.frame)?.written) ?? null;
    } catch {
      return null; // no transaction
    }
  }

  /** Returns the fee rate at which a transaction is made now, satoshis for each virtual byte. @throws {PlatformError} PUBLISHING_FAILED */
  async feeRate(): Promise<number> {
    return Number(Object(await this.#ask('estimate_fee', {})).medium);
  }

  /** @throws {PlatformError} PUBLISHING_FAILED when the encoder does not say that it is healthy */
  async test(): Promise<void> {
    const { status } = Object(await this.#ask('health', {})) as Fields;
    if (status !== 'healthy') throw failed(`the encoder says that it is ${status}`);
  }

  async #create(request: object): Promise<Fields> {
    const created = Object(await this.#ask('create_tx', request)) as Fields;
    const { mostCost } = this.#options;
    const total = Number(created['total'] ?? Number.NaN);
    if (!(total <= mostCost))
      throw failed(`a round would cost ${created['total']} satoshis, and ORACLE_PUBLISH_MAX_COST is ${mostCost}`);
    return created;
  }

  #checked(transactions: readonly string[], action: string): Publication {
    const [first, last] = [transactions[0]!, transactions.at(-1)!].map((hex) => readWhole(hex));
    if (this.read(transactions.at(-1)!) !== action) throw failed('what the signer returned does not carry the action');
    if (transactions.length > 1 && last!.spends.some((txid) => txid !== first!.txid))
      throw failed('the second transaction that the signer returned does not spend the first one alone');
    return { transactions, txid: last!.txid };
  }

  async #ask(method: string, params: object): Promise<unknown> {
    const { encoder, apiKey } = this.#options;
    try {
      return await callMethod(`${encoder}/`, method, params, { apiKey, signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch (caught) {
      throw failed(`ORACLE_PUBLISH_ENCODER, ${method}: ${reasonOf(caught)}`);
    }
  }
}

function readWhole(hex: string): { readonly txid: string; readonly spends: readonly string[] } {
  try {
    const { txid, inputs } = readRawTransaction(Buffer.from(hex, 'hex'));
    return { txid, spends: inputs.map((input) => input.txid) };
  } catch {
    throw failed('the signer returned no transaction');
  }
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw failed('the encoder answered no PSBT');
}

function failed(reason: string): PlatformError {
  return new PlatformError('PUBLISHING_FAILED', { reason });
}
