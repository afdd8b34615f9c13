/** Requirements on the node: any transaction by id, for the coins' origin; and the network's tip, for fees and locks; and the whole mempool, for coins that wait. */
export const NODE_NEEDS = { hasIndex: true, blocksFrom: null, isWhole: true, hasMempool: true } as const;
