/** Commands that the guardian restarts after an abnormal exit. */
export const SERVICES: readonly string[] = [
  'sync',
  'hub',
  'decoder',
  'indexer',
  'utxo',
  'explorer',
  'encoder',
  'miner'
];
