import { CHAIN_NETWORKS } from '../coin/chains.ts';
import { NodeRpc } from '../coin/node/node-rpc.ts';
import { parseAmount } from '../consensus/amount.ts';
import type { Logger } from '../log.ts';
import { callMethod, reasonOf } from '../service/rpc/call-method.ts';
import { Turns } from '../service/turns/turns.ts';
import { SparseLines } from '../sparse-lines.ts';
import type { ChainServices } from './chain-services.ts';
import type { ActionPlace } from './federation/matters/records.ts';

/** Answers of indexers and coin nodes; null if none is named, or it does not answer. */
export interface ChainFacts {
  /**
   * Counts the blocks from an action of a chain to the newest; 0: there is no such action. @param address of the asker: networks
   * take turns
   */
  confirmationsOf(chain: string, actionIndex: number, address: string): Promise<number | null>;
  /** Whether the coin node has this block at this height. @param address as above */
  hasBlock(chain: string, height: number, hash: string, address: string): Promise<boolean | null>;
  /** Finds the block of an action, for this hub's set. Null: also where the indexer has no such action, and lacks blocks that the coin node has. */
  actionAt(chain: string, actionIndex: number): Promise<FoundAction | null>;
  /**
   * Whether the coin node went from one block to another at a height. Null: it does not know the old one, or the reorg is deeper than any
   * that is news.
   */
  hasReorganised(chain: string, height: number, oldHash: string, newHash: string): Promise<boolean | null>;
  /** Returns the stake of a key in the newest block of Bitcoin, units of the gas token, and that block's height. */
  stakeOf(pubkey: string): Promise<FoundStake | null>;
  /** Whether the ledger of Bitcoin has the prices of a round. Null: also where the indexer lacks blocks that the coin node has. */
  hasRound(round: number): Promise<boolean | null>;
  /** Finds a transaction of Bitcoin that waits for a block, in the coin node; null: also where none waits. */
  waitingTransaction(txid: string): Promise<WaitingTransaction | null>;
  /** Asks each indexer that the configuration names, one for each chain. */
  indexersAnswer(): Promise<readonly { readonly chain: string; readonly isUp: boolean }[]>;
}

/** Stake of a key, as an indexer has it. */
interface FoundStake {
  readonly stake: string;
  readonly height: number | null;
  /** Address that staked; null: none did. */
  readonly source: string | null;
}

/** A transaction that waits for a block. */
interface WaitingTransaction {
  readonly hex: string;
  /** Satoshis for each virtual byte, with all that it needs to be in a block. */
  readonly feeRate: number;
}

/** Place of an action, as an indexer has it. */
interface FoundAction {
  /** Null: there is no such action. */
  readonly place: ActionPlace | null;
  /** Blocks from that of the action to the newest. */
  readonly confirmations: number;
}

/** Deepest reorg that is news: an old one, which happened, would take back again what was attested since. */
const MOST_DEPTH = 200;
const PATIENCE_MS = 3_000;
/** Chain of the ledger that has stakes and prices. */
const STAKES = 'BTC';
const SATOSHIS = 100_000_000;
/** Name under which this hub's own questions take turns. */
const OWN = 'this hub';
/** Questions to indexers and nodes at once. */
const ASKS_AT_ONCE = 8;
/** The answer of bitcoind and its kin if no block has the height. */
const OUT_OF_RANGE = /-8\b|out of range/i;
/** The same if a transaction does not wait there. */
const UNKNOWN_TRANSACTION = /-5\b|not in mempool|no such mempool/i;
/** The same if it has never seen a block. */
const UNKNOWN_BLOCK = /-5\b|not found/i;

/** Fields of an answer that was not checked yet. */
type Fields = Readonly<Record<string, unknown>>;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Asks the indexers and coin nodes that some services are. */
export function askChains({ indexerOf, nodeOf }: ChainServices, log: Logger): ChainFacts {
  const turns = new Turns({ atOnce: ASKS_AT_ONCE });
  const lines = new SparseLines();
  const orNull = async <T>(what: string, address: string, ask: () => Promise<T | null>): Promise<T | null> => {
    try {
      return await turns.take({ address }, ask);
    } catch (caught) {
      const more = lines.take(reasonOf(caught));
      if (more !== null) log.warn({ more }, `${what} is not verified: ${reasonOf(caught)}`);
      return null;
    }
  };
  const askIndexer = async (chain: string, method: string, params: object): Promise<unknown> => {
    const url = await indexerOf(chain);
    if (url === null) return null;
    return await callMethod(`${url}/`, method, params, { signal: AbortSignal.timeout(PATIENCE_MS) });
  };
  const onNode = async <T>(
    chain: string,
    work: (call: (method: string, params: readonly unknown[]) => Promise<unknown>) => Promise<T>
  ): Promise<T | null> => {
    const node = await nodeOf(chain);
    if (node === null) return null;
    const rpc = new NodeRpc({ ...node, timeoutMs: PATIENCE_MS, retries: 0 });
    try {
      return await work((method, params) => rpc.call(method, [...params], AbortSignal.timeout(PATIENCE_MS)));
    } finally {
      await rpc.close();
    }
  };
  /** Returns the block at a height of a node's chain, in small letters; null: no block has the height. */
  const hashAt = async (
    call: (method: string, params: readonly unknown[]) => Promise<unknown>,
    height: number
  ): Promise<string | null> => {
    try {
      return String(await call('getblockhash', [height])).toLowerCase();
    } catch (caught) {
      if (OUT_OF_RANGE.test(reasonOf(caught))) return null;
      throw caught;
    }
  };

  /** An action that an indexer lacks may be in a block that it has not read yet. @throws {Error} where the coin node has more blocks */
  const refuseBehind = async (chain: string, latest: unknown): Promise<void> => {
    const tip = await onNode(chain, async (call) => Number(await call('getblockcount', [])));
    if (tip !== null && latest !== undefined && !(isCount(latest) && latest >= tip))
      throw new Error(`the indexer of ${chain} is at block ${latest}, its coin node at ${tip}`);
  };

  return {
    actionAt: (chain, actionIndex) =>
      orNull(`action ${actionIndex} of ${chain}`, OWN, async () => {
        const ask = () => askIndexer(chain, 'getactionconfirmations', { action_index: actionIndex });
        const answer = await ask();
        if (answer === null) return null;
        const {
          coin,
          exists,
          action,
          block_index: height,
          latest_block_index: latest,
          confirmations
        } = Object(answer) as Fields;
        const isWrong = (found: unknown) => new Error(`the indexer answered ${JSON.stringify(found).slice(0, 200)}`);
        if (coin !== chain || typeof exists !== 'boolean') throw isWrong(answer);
        if (!exists) {
          await refuseBehind(chain, latest);
          return { place: null, confirmations: 0 };
        }
        if (typeof action !== 'string' || !isCount(height) || !isCount(confirmations)) throw isWrong(answer);
        const block = await askIndexer(chain, 'getblockhashes', { block_index: height });
        const { block_hash: hash } = Object(block) as Fields;
        if (typeof hash !== 'string' || !/^[0-9a-f]{64}$/i.test(hash)) throw isWrong(block);
        // Between two answers the indexer may have changed to a branch whose block there has another action.
        const after = Object(await ask()) as Fields;
        if (after['exists'] !== true || after['action'] !== action || after['block_index'] !== height)
          throw new Error(`a reorg came while the indexer was asked for action ${actionIndex}`);
        return { place: { action, height, hash: hash.toLowerCase() }, confirmations };
      }),
    hasReorganised: (chain, height, oldHash, newHash) =>
      orNull(`block ${height} of ${chain}`, OWN, () =>
        onNode(chain, async (call) => {
          const [present, tip] = [await hashAt(call, height), Number(await call('getblockcount', []))];
          if (present !== newHash) return false;
          if (tip - height > MOST_DEPTH) return null;
          const { height: oldHeight, confirmations } = Object(
            await call('getblockheader', [oldHash]).catch((caught: unknown) => {
              if (UNKNOWN_BLOCK.test(reasonOf(caught))) return {};
              throw caught;
            })
          ) as Fields;
          return oldHeight === height && confirmations === -1 ? true : null;
        })
      ),
    confirmationsOf: (chain, actionIndex, address) =>
      orNull(`action ${actionIndex} of ${chain}`, address, async () => {
        const answer = await askIndexer(chain, 'getactionconfirmations', { action_index: actionIndex });
        if (answer === null) return null;
        const { coin, confirmations, latest_block_index: latest } = Object(answer) as Fields;
        if (coin !== chain || !Number.isSafeInteger(confirmations) || Number(confirmations) < 0)
          throw new Error(`the indexer answered ${JSON.stringify(answer).slice(0, 200)}`);
        if (confirmations === 0) await refuseBehind(chain, latest);
        return Number(confirmations);
      }),
    hasBlock: (chain, height, hash, address) =>
      orNull(`block ${height} of ${chain}`, address, () =>
        onNode(chain, async (call) => (await hashAt(call, height)) === hash.toLowerCase())
      ),
    stakeOf: (pubkey) =>
      orNull('the stake of this hub', OWN, async () => {
        const answer = await askIndexer(STAKES, 'getownstake', { pubkey });
        if (answer === null) return null;
        const { stake, block_index: height, source = null } = Object(answer) as Readonly<Record<string, unknown>>;
        const isHeight = height === null || Number.isSafeInteger(height);
        if (typeof stake !== 'string' || parseAmount(stake) === null || !isHeight)
          throw new Error(`the indexer answered ${JSON.stringify(answer).slice(0, 200)}`);
        return { stake, height: height as number | null, source: typeof source === 'string' ? source : null };
      }),
    hasRound: (round) =>
      orNull(`round ${round} of prices`, OWN, async () => {
        const tip = await onNode(STAKES, async (call) => Number(await call('getblockcount', [])));
        const answer = tip === null ? null : await askIndexer(STAKES, 'getpriceround', { round });
        if (answer === null) return null;
        const { coin, action_index: action, latest_block_index: latest } = Object(answer) as Fields;
        if (coin !== STAKES || !(action === null || isCount(action)) || !(latest === null || isCount(latest)))
          throw new Error(`the indexer answered ${JSON.stringify(answer).slice(0, 200)}`);
        if (action !== null) return true;
        return latest !== null && latest >= tip! ? false : null;
      }),
    waitingTransaction: (txid) =>
      orNull(`transaction ${txid}`, OWN, () =>
        onNode(STAKES, async (call) => {
          const unknown = (caught: unknown) => {
            if (UNKNOWN_TRANSACTION.test(reasonOf(caught))) return null;
            throw caught;
          };
          const entry = await call('getmempoolentry', [txid]).catch(unknown);
          const hex = entry && (await call('getrawtransaction', [txid]).catch(unknown));
          if (typeof hex !== 'string') return null;
          const { fees, ancestorsize: bytes } = Object(entry) as Fields;
          return { hex, feeRate: (Number((Object(fees) as Fields)['ancestor']) * SATOSHIS) / Number(bytes) };
        })
      ),
    indexersAnswer: async () => {
      const chains = [...new Set(CHAIN_NETWORKS.map(({ ticker }) => ticker))];
      const asked = chains.map(async (chain) => {
        if (!(await orNull(`the indexer of ${chain}`, OWN, () => indexerOf(chain)))) return [];
        const answer = await orNull(`the indexer of ${chain}`, OWN, () => askIndexer(chain, 'ping', {}));
        return [{ chain, isUp: answer !== null }];
      });
      return (await Promise.all(asked)).flat();
    }
  };
}
