export { DISPENSER_DELAY_S } from '../../coin/action/dispenser.ts';
