import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { query } from '../decoder/loop.ts';

interface PrintedTransaction {
  readonly txid: string;
  readonly vout: readonly {
    readonly value: string;
    readonly scriptPubKey: { readonly hex: string; readonly type: string };
  }[];
}

/** A block as a node prints it with verbosity 2, as far as it is used here. */
export interface PrintedBlock {
  readonly previousblockhash?: string;
  readonly tx: readonly PrintedTransaction[];
}

interface Scan {
  readonly unspents: readonly { txid: string; vout: number; scriptPubKey: string; amount: string; height: number }[];
}

/** Maturity of rewards at Litecoin's nodes. */
const REWARD_MATURITY = 100;
const EXTENSION_MATURITY = 6;

/** The unspent outputs of a node, by `gettxoutsetinfo` and by `scantxoutset` of every script that its blocks ever paid to. */
export class UnspentSet {
  readonly #rpc: NodeRpc;
  readonly #blocks = new Set<string>();
  readonly #scripts = new Set<string>();
  /** Blocks after which a coin may be spent, by the places of those for which there is such a number. */
  readonly #maturities = new Map<string, number>();

  constructor(rpc: NodeRpc) {
    this.#rpc = rpc;
  }

  /** Compares what a tracker has stored: how many outputs, their sum, and each of them. */
  async assertStored(database: DatabaseCoordinates, what: string): Promise<void> {
    const { txouts, total_amount } = (await this.#call('gettxoutsetinfo')) as { txouts: number; total_amount: string };
    const [sums] = await query(database, 'SELECT COUNT(*) AS n, CAST(SUM(value) AS CHAR) AS value FROM coins');
    assert.deepEqual(
      { txouts: Number(sums?.['n']), total: String(sums?.['value']) },
      { txouts: Number(txouts), total: String(toBaseUnits(String(total_amount))) },
      what
    );
    const found = await this.#scan();
    assert.equal(found.length, Number(txouts), `${what}: the scan knows every script`);
    assert.deepEqual(await storedCoins(database), found, what);
  }

  async #scan(): Promise<readonly string[]> {
    await this.#readNewBlocks();
    const { unspents } = (await this.#call(
      'scantxoutset',
      'start',
      [...this.#scripts].map((hex) => `raw(${hex})`)
    )) as Scan;
    return unspents
      .map(({ txid, vout, scriptPubKey, amount, height }) => {
        const owner = hash('sha256', Buffer.from(scriptPubKey, 'hex'), 'hex');
        const value = toBaseUnits(String(amount));
        return lineOf({ txid, vout, owner, value, height, maturity: this.#maturities.get(`${txid}:${vout}`) ?? 0 });
      })
      .sort();
  }

  /** From the tip down to blocks that are known. */
  async #readNewBlocks(): Promise<void> {
    let at: string | undefined = String(await this.#call('getbestblockhash'));
    while (at !== undefined && !this.#blocks.has(at)) {
      const { tx, previousblockhash }: PrintedBlock = (await this.#call('getblock', at, 2)) as PrintedBlock;
      this.#blocks.add(at);
      this.#ripen(tx[0]!, REWARD_MATURITY);
      const isExtension = tx.at(-1)!.vout[0]!.scriptPubKey.type === 'witness_mweb_hogaddr';
      if (isExtension) this.#ripen(tx.at(-1)!, EXTENSION_MATURITY, 1);
      for (const { vout } of tx)
        for (const { scriptPubKey } of vout) if (scriptPubKey.hex) this.#scripts.add(scriptPubKey.hex);
      at = previousblockhash;
    }
  }

  #ripen({ txid, vout }: PrintedTransaction, maturity: number, first = 0): void {
    for (let at = first; at < vout.length; at++) this.#maturities.set(`${txid}:${at}`, maturity);
  }

  #call(method: string, ...params: unknown[]): Promise<unknown> {
    return this.#rpc.call(method, params);
  }
}

async function storedCoins(database: DatabaseCoordinates): Promise<readonly string[]> {
  const rows = await query(
    database,
    'SELECT outpoint, HEX(script_hash) AS owner, CAST(value AS CHAR) AS value, height, maturity FROM coins'
  );
  return rows
    .map((row) => {
      const outpoint = row['outpoint'] as Buffer;
      return lineOf({
        txid: Buffer.from(outpoint.subarray(0, 32)).reverse().toString('hex'),
        vout: outpoint.readUInt32LE(32),
        owner: String(row['owner']).toLowerCase(),
        value: BigInt(String(row['value'])),
        height: Number(row['height']),
        maturity: Number(row['maturity'])
      });
    })
    .sort();
}

interface Line {
  readonly txid: string;
  readonly vout: number | string;
  /** SHA-256 of the script. */
  readonly owner: string;
  readonly value: bigint;
  readonly height: number | string;
  readonly maturity: number;
}

const lineOf = ({ txid, vout, owner, value, height, maturity }: Line): string =>
  `${txid}:${vout} of ${owner}: ${value} at ${height}, to be spent after ${maturity} blocks`;
