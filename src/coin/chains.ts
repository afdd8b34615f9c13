export const CHAINS = ['bitcoin', 'litecoin', 'dogecoin'] as const;
export const NETWORKS = ['mainnet', 'testnet', 'regtest'] as const;
export type Chain = (typeof CHAINS)[number];
export type Network = (typeof NETWORKS)[number];

/** Bytes and words at the start of a network's addresses and keys. */
export interface AddressVersions {
  /** Human-readable part of segwit addresses; null for a chain without segwit. */
  readonly bech32: string | null;
  readonly p2pkh: number;
  /** First byte of script-hash addresses as written. */
  readonly p2sh: number;
  /** First bytes of script-hash addresses as accepted: the written one and older ones. */
  readonly p2shAccepted: readonly number[];
  readonly wif: number;
}

/** Facts that all networks of a chain share. */
interface ChainFacts {
  /** `BTC`, as in INDEXER_COIN, public paths and database names. */
  readonly ticker: string;
  /** Confirmations before another chain relies on an action. @see the specification's "Limits" */
  readonly confirmations: number;
  /** Blocks until a contract-targeted stake counts. @see the specification's "Limits" */
  readonly activationDelayBlocks: number;
  /** Blocks until the units of an ended stake return. */
  readonly unstakeCooldownBlocks: number;
  /** Fee in satoshis per 1000 vbytes below which an output is not worth spending: nodes refuse it as dust. */
  readonly dustRelayRate: number;
  /** Least satoshis of an output of any size. */
  readonly dustFloor: number;
  /** Satoshis below which an output costs that many more in fees; 0 when no output does. */
  readonly softDust: number;
  /** Least satoshis that every kind of address can be paid by an output that costs no extra fee. */
  readonly leastPayment: number;
  /** Satoshis per 1000 virtual bytes below which miners take no transaction by default. */
  readonly leastMinedRate: number;
  /** Whether nodes accept replacements by default. @see docs/operating/networks.md */
  readonly replacesByDefault: boolean;
  /** Satoshis per virtual byte above which a fee counts as a mistake, unless the operator sets another limit. */
  readonly usualMostRate: number;
  /** Blocks that can be rolled back; a deeper reorg halts. */
  readonly undoDepth: number;
  /** Blocks until a block's reward may be spent. */
  readonly coinbaseMaturity: number;
}

interface NetworkFacts {
  /** Hash of block 0. Together with the node's name of the network it identifies a network. */
  readonly genesisHash: string;
  /** The coin node's usual RPC port. */
  readonly rpcPort: number;
  /** The first block that can hold an action. */
  readonly startBlock: number;
  readonly addresses: AddressVersions;
  /** First block under the segwit rules; null for never. */
  readonly segwitHeight: number | null;
  /** First block under the taproot rules; null for never, or when it is not recorded here. */
  readonly taprootHeight: number | null;
  /** Maturity of rewards when it differs from the chain's. */
  readonly coinbaseMaturity?: number;
}

/** Facts about one network of one chain. */
export interface ChainNetwork extends ChainFacts, Omit<NetworkFacts, 'coinbaseMaturity'> {
  readonly chain: Chain;
  readonly network: Network;
  /** `bitcoin-mainnet`, as in NETWORK. */
  readonly name: string;
  /** Prefix of public paths: `BTC`, `TBTC`, `RBTC`. */
  readonly code: string;
  /** Name of the network in a coin node's `getblockchaininfo`. */
  readonly nodeChain: 'main' | 'test' | 'regtest';
}

const UNDO_DEPTH = 126;

const CHAIN_FACTS: Readonly<Record<Chain, ChainFacts>> = {
  bitcoin: {
    ticker: 'BTC',
    confirmations: 3,
    activationDelayBlocks: 6,
    unstakeCooldownBlocks: 1_000,
    dustRelayRate: 3_000,
    dustFloor: 0,
    softDust: 0,
    leastPayment: 546,
    leastMinedRate: 1_000,
    replacesByDefault: true,
    usualMostRate: 3_000,
    undoDepth: UNDO_DEPTH,
    coinbaseMaturity: 100
  },
  litecoin: {
    ticker: 'LTC',
    confirmations: 3,
    activationDelayBlocks: 24,
    unstakeCooldownBlocks: 4_032,
    dustRelayRate: 30_000,
    dustFloor: 0,
    softDust: 0,
    leastPayment: 5_460,
    leastMinedRate: 1_000,
    replacesByDefault: false,
    usualMostRate: 3_000,
    undoDepth: UNDO_DEPTH,
    coinbaseMaturity: 100
  },
  // Its nodes know no dust rate, only a least amount, and one below which an output costs more. @see docs/operating/networks.md
  dogecoin: {
    ticker: 'DOGE',
    confirmations: 6,
    activationDelayBlocks: 60,
    unstakeCooldownBlocks: 10_080,
    dustRelayRate: 0,
    dustFloor: 100_000,
    softDust: 1_000_000,
    leastPayment: 1_000_000,
    leastMinedRate: 1_000_000,
    replacesByDefault: true,
    usualMostRate: 1_000_000,
    undoDepth: UNDO_DEPTH,
    coinbaseMaturity: 240
  }
};

/** Facts of networks. @see the section "Shared configuration" of the specification for the ports */
const NETWORK_FACTS: Readonly<Record<Chain, Readonly<Record<Network, NetworkFacts>>>> = {
  bitcoin: {
    mainnet: {
      genesisHash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
      rpcPort: 8332,
      startBlock: 950_000,
      addresses: { bech32: 'bc', p2pkh: 0x00, p2sh: 0x05, p2shAccepted: [0x05], wif: 0x80 },
      segwitHeight: 481_824,
      taprootHeight: 709_632
    },
    testnet: {
      genesisHash: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943',
      rpcPort: 18_332,
      startBlock: 0,
      addresses: { bech32: 'tb', p2pkh: 0x6f, p2sh: 0xc4, p2shAccepted: [0xc4], wif: 0xef },
      segwitHeight: 834_624,
      taprootHeight: 2_011_968
    },
    regtest: {
      genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
      rpcPort: 18_443,
      startBlock: 0,
      addresses: { bech32: 'bcrt', p2pkh: 0x6f, p2sh: 0xc4, p2shAccepted: [0xc4], wif: 0xef },
      segwitHeight: 0,
      taprootHeight: 0
    }
  },
  // Script hashes once began with Bitcoin's bytes.
  litecoin: {
    mainnet: {
      genesisHash: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2',
      rpcPort: 9332,
      startBlock: 3_120_000,
      addresses: { bech32: 'ltc', p2pkh: 0x30, p2sh: 0x32, p2shAccepted: [0x32, 0x05], wif: 0xb0 },
      segwitHeight: 1_201_536,
      taprootHeight: 2_257_920
    },
    testnet: {
      genesisHash: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0',
      rpcPort: 19_332,
      startBlock: 0,
      addresses: { bech32: 'tltc', p2pkh: 0x6f, p2sh: 0x3a, p2shAccepted: [0x3a, 0xc4], wif: 0xef },
      segwitHeight: 6_048,
      taprootHeight: null
    },
    regtest: {
      genesisHash: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
      rpcPort: 19_443,
      startBlock: 0,
      addresses: { bech32: 'rltc', p2pkh: 0x6f, p2sh: 0x3a, p2shAccepted: [0x3a, 0xc4], wif: 0xef },
      segwitHeight: 0,
      taprootHeight: 0
    }
  },
  dogecoin: {
    mainnet: {
      genesisHash: '1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691',
      rpcPort: 22_555,
      startBlock: 6_240_000,
      addresses: { bech32: null, p2pkh: 0x1e, p2sh: 0x16, p2shAccepted: [0x16], wif: 0x9e },
      segwitHeight: null,
      taprootHeight: null
    },
    testnet: {
      genesisHash: 'bb0a78264637406b6360aad926284d544d7049f45189db5664f3c4d07350559e',
      rpcPort: 44_555,
      startBlock: 0,
      addresses: { bech32: null, p2pkh: 0x71, p2sh: 0xc4, p2shAccepted: [0xc4], wif: 0xf1 },
      segwitHeight: null,
      taprootHeight: null
    },
    regtest: {
      genesisHash: '3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5',
      rpcPort: 18_332,
      startBlock: 0,
      addresses: { bech32: null, p2pkh: 0x6f, p2sh: 0xc4, p2shAccepted: [0xc4], wif: 0xef },
      segwitHeight: null,
      taprootHeight: null,
      coinbaseMaturity: 60
    }
  }
};

const NODE_CHAIN = { mainnet: 'main', testnet: 'test', regtest: 'regtest' } as const;
const CODE_PREFIX = { mainnet: '', testnet: 'T', regtest: 'R' } as const;

/** Returns the facts about one network of one chain. */
export function chainNetwork(chain: Chain, network: Network): ChainNetwork {
  const facts = CHAIN_FACTS[chain];
  return {
    chain,
    network,
    name: `${chain}-${network}`,
    code: CODE_PREFIX[network] + facts.ticker,
    nodeChain: NODE_CHAIN[network],
    ...facts,
    ...NETWORK_FACTS[chain][network]
  };
}

/** All known networks, chain by chain. */
export const CHAIN_NETWORKS: readonly ChainNetwork[] = CHAINS.flatMap((chain) =>
  NETWORKS.map((network) => chainNetwork(chain, network))
);
