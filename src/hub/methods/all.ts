import type { HubConfig } from '../../config/hub.ts';
import type { RpcMethod } from '../../service/rpc/method.ts';
import type { HubDatabase } from '../store/database.ts';
import { configMethods } from './config.ts';
import { stateMethods } from './state.ts';

/** Which methods ask for HUB_API_KEY beside the eight writes of the specification. */
export type HubGates = Pick<HubConfig, 'HUB_SENSITIVE_READ_AUTH'>;

/** The methods of a standalone hub. @see the section "Hub (JSON-RPC 2.0 on HUB_PORT)" of the specification */
export function hubMethods(database: HubDatabase, gates: HubGates): Readonly<Record<string, RpcMethod>> {
  return {
    ...stateMethods(database),
    ...configMethods(database, { readNeedsKey: gates.HUB_SENSITIVE_READ_AUTH })
  };
}
