export const CHAINS = ['bitcoin', 'litecoin', 'dogecoin'] as const;
export const NETWORKS = ['mainnet', 'testnet', 'regtest'] as const;
export type Chain = (typeof CHAINS)[number];
export type Network = (typeof NETWORKS)[number];

/** What this system knows of one network of one chain. */
export interface ChainNetwork {
  readonly chain: Chain;
  readonly network: Network;
  /** What a coin node calls the network, in `getblockchaininfo`. */
  readonly nodeChain: 'main' | 'test' | 'regtest';
  readonly genesisHash: string;
  /** The coin node's usual RPC port. */
  readonly rpcPort: number;
  /** The first block that can hold an action. */
  readonly startBlock: number;
}

type Facts = Pick<ChainNetwork, 'genesisHash' | 'rpcPort'> & { readonly startBlock?: number };

const NODE_CHAIN = { mainnet: 'main', testnet: 'test', regtest: 'regtest' } as const;

/** @see the section "Shared configuration" of the specification for the ports */
const FACTS: Readonly<Record<Chain, Readonly<Record<Network, Facts>>>> = {
  bitcoin: {
    mainnet: {
      genesisHash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
      rpcPort: 8332,
      startBlock: 950_000
    },
    testnet: { genesisHash: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943', rpcPort: 18_332 },
    regtest: { genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206', rpcPort: 18_443 }
  },
  litecoin: {
    mainnet: {
      genesisHash: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2',
      rpcPort: 9332,
      startBlock: 3_120_000
    },
    testnet: { genesisHash: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0', rpcPort: 19_332 },
    regtest: { genesisHash: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9', rpcPort: 19_443 }
  },
  dogecoin: {
    mainnet: {
      genesisHash: '1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691',
      rpcPort: 22_555,
      startBlock: 6_240_000
    },
    testnet: { genesisHash: 'bb0a78264637406b6360aad926284d544d7049f45189db5664f3c4d07350559e', rpcPort: 44_555 },
    regtest: { genesisHash: '3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5', rpcPort: 18_332 }
  }
};

/** One network of one chain. */
export function chainNetwork(chain: Chain, network: Network): ChainNetwork {
  return { chain, network, nodeChain: NODE_CHAIN[network], startBlock: 0, ...FACTS[chain][network] };
}

/** `litecoin-regtest` as the NETWORK variable spells it; undefined when nobody knows it. */
export function findChainNetwork(name: string): ChainNetwork | undefined {
  const [chain, network] = name.split('-');
  const knownChain = CHAINS.find((known) => known === chain);
  const knownNetwork = NETWORKS.find((known) => known === network);
  return knownChain && knownNetwork && name === `${knownChain}-${knownNetwork}`
    ? chainNetwork(knownChain, knownNetwork)
    : undefined;
}
