/** The module `platform-node/machines`: the state charts of all services, and their live transitions for XState's tools. */
export { MACHINES } from '../../machines/all.ts';
export { type InspectionEvent, type InspectOptions, inspect } from './inspect.ts';
