import { orderOf, startOrderTest, USUAL_ORDER } from './start-order.ts';

const SEED = process.env['PROPERTY_SEED'] ?? '1';

startOrderTest('services before their rights, and those before the coin node', USUAL_ORDER.toReversed(), SEED);
startOrderTest(`order of seed ${SEED}`, orderOf(SEED), SEED);
