export { monotonicMs } from '../wire/state/monotonic.ts';
