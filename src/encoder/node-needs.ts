/** Requirements on the node: any transaction by id, for the coins' origin; and the network's tip, for fees and locks. */
export const NODE_NEEDS = { hasIndex: true, blocksFrom: null, isWhole: true } as const;
