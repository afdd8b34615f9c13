import { CHAIN_NETWORKS, type ChainNetwork } from '../coin/chains.ts';
import { NodeRpc } from '../coin/node/node-rpc.ts';
import type { HubPlace } from '../config/variables.ts';
import { parseAmount } from '../consensus/amount.ts';
import type { Logger } from '../log.ts';
import { callMethod, reasonOf } from '../service/rpc/call-method.ts';
import { Turns } from '../service/turns/turns.ts';
import { SparseLines } from '../sparse-lines.ts';
import { pickSettings } from './settings.ts';
import { buildTree } from './store/config-tree.ts';
import type { HubDatabase } from './store/database.ts';

/** Answers of the services that this hub's configuration names; null if none is named, or it does not answer. */
export interface ChainFacts {
  /**
   * Counts the blocks from an action of a chain to the newest; 0: there is no such action. @param address of the asker: networks
   * take turns
   */
  confirmationsOf(chain: string, actionIndex: number, address: string): Promise<number | null>;
  /** Whether the coin node has this block at this height. @param address as above */
  hasBlock(chain: string, height: number, hash: string, address: string): Promise<boolean | null>;
  /** Returns the stake of a key in the newest block of Bitcoin, units of the gas token, and that block's height. */
  stakeOf(pubkey: string): Promise<{ readonly stake: string; readonly height: number | null } | null>;
  /** Asks each indexer that the configuration names, one for each chain. */
  indexersAnswer(): Promise<readonly { readonly chain: string; readonly isUp: boolean }[]>;
}

const PATIENCE_MS = 3_000;
/** Name under which this hub's own questions take turns. */
const OWN = 'this hub';
/** Questions to indexers and nodes at once. */
const ASKS_AT_ONCE = 8;
/** The answer of bitcoind and its kin if no block has the height. */
const OUT_OF_RANGE = /-8\b|out of range/i;

const INDEXER = {
  host: { service: 'indexer', params: ['host'] },
  port: { service: 'indexer', params: ['service_port'] }
} as const;
const NODE = {
  host: { service: 'node', params: ['host'] },
  port: { service: 'node', params: ['port'] },
  user: { service: 'node', params: ['user'] },
  password: { service: 'node', params: ['pass'] }
} as const;

/** Asks the indexer and the coin node of a chain: those of its mainnet, or of the one network that the configuration names. */
export function askChains(database: HubDatabase, log: Logger): ChainFacts {
  const placesOf = async (
    chain: string,
    places: Readonly<Record<string, HubPlace>>
  ): Promise<Readonly<Record<string, string>> | null> => {
    const { entries } = await database.read('selectConfigState');
    const tree = buildTree(entries);
    const found = CHAIN_NETWORKS.filter(({ ticker }) => ticker === chain)
      .map((network): [ChainNetwork, Readonly<Record<string, string>>] => [
        network,
        pickSettings(tree, network, places, []).texts
      ])
      .filter(([, { host, port }]) => host !== undefined && port !== undefined);
    const main = found.find(([{ network }]) => network === 'mainnet') ?? (found.length === 1 ? found[0] : undefined);
    return main?.[1] ?? null;
  };
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
  const urlOf = (host: string, port: string) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const askIndexer = async (chain: string, method: string, params: object): Promise<unknown> => {
    const { host, port } = (await placesOf(chain, INDEXER)) ?? {};
    if (host === undefined || port === undefined) return null;
    return await callMethod(`${urlOf(host, port)}/`, method, params, { signal: AbortSignal.timeout(PATIENCE_MS) });
  };

  return {
    confirmationsOf: (chain, actionIndex, address) =>
      orNull(`action ${actionIndex} of ${chain}`, address, async () => {
        const answer = await askIndexer(chain, 'getactionconfirmations', { action_index: actionIndex });
        if (answer === null) return null;
        const { coin, confirmations } = Object(answer) as { readonly coin?: unknown; readonly confirmations?: unknown };
        if (coin !== chain || !Number.isSafeInteger(confirmations) || Number(confirmations) < 0)
          throw new Error(`the indexer answered ${JSON.stringify(answer).slice(0, 200)}`);
        return Number(confirmations);
      }),
    hasBlock: (chain, height, hash, address) =>
      orNull(`block ${height} of ${chain}`, address, async () => {
        const { host, port, user = '', password = '' } = (await placesOf(chain, NODE)) ?? {};
        if (host === undefined || port === undefined) return null;
        const rpc = new NodeRpc({ url: urlOf(host, port), user, password, timeoutMs: PATIENCE_MS, retries: 0 });
        try {
          const known = await rpc.call('getblockhash', [height], AbortSignal.timeout(PATIENCE_MS));
          return String(known).toLowerCase() === hash.toLowerCase();
        } catch (caught) {
          if (OUT_OF_RANGE.test(reasonOf(caught))) return false;
          throw caught;
        } finally {
          await rpc.close();
        }
      }),
    stakeOf: (pubkey) =>
      orNull('the stake of this hub', OWN, async () => {
        const answer = await askIndexer('BTC', 'getownstake', { pubkey });
        if (answer === null) return null;
        const { stake, block_index: height } = Object(answer) as Readonly<Record<string, unknown>>;
        const isHeight = height === null || Number.isSafeInteger(height);
        if (typeof stake !== 'string' || parseAmount(stake) === null || !isHeight)
          throw new Error(`the indexer answered ${JSON.stringify(answer).slice(0, 200)}`);
        return { stake, height: height as number | null };
      }),
    indexersAnswer: async () => {
      const chains = [...new Set(CHAIN_NETWORKS.map(({ ticker }) => ticker))];
      const asked = chains.map(async (chain) => {
        if (!(await orNull(`the indexer of ${chain}`, OWN, () => placesOf(chain, INDEXER)))) return [];
        const answer = await orNull(`the indexer of ${chain}`, OWN, () => askIndexer(chain, 'ping', {}));
        return [{ chain, isUp: answer !== null }];
      });
      return (await Promise.all(asked)).flat();
    }
  };
}
