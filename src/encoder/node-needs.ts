/** Requirements on the node: any transaction by id (origin of coins), the network's tip (fees, locks), the mempool (waiting coins). */
export const NODE_NEEDS = { hasIndex: true, blocksFrom: null, isWhole: true, hasMempool: true } as const;
