import { orderOf, startOrderTest } from './start-order.ts';

const SEED = process.env['PROPERTY_SEED'] ?? '1';
const ORDERS = Number(process.env['START_ORDERS'] ?? 12);

for (let number = 1; number <= ORDERS; number++) {
  const seed = `${SEED}-${number}`;
  startOrderTest(`order of seed ${seed}`, orderOf(seed), seed);
}
