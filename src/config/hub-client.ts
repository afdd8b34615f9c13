import { readFirstToken } from './tokens.ts';
import { integer, list, parsed, port, text, type Values } from './variables.ts';

/** Variables of every service that asks the hub. @see the section "Shared configuration" of the specification */
export const hubClientVariables = {
  HUB_API_HOST: text({
    doc: 'host of the hub; unused when HUB_VALIDATORS is set',
    example: '127.0.0.1',
    essential: true
  }),
  HUB_PORT: port({ default: 10_000, doc: 'port of the hub' }),
  HUB_VALIDATORS: list(readHostPort, {
    doc: 'several hubs, tried in order, instead of HUB_API_HOST',
    example: 'hub1:10000,hub2:10000'
  }),
  HUB_API_KEY: parsed(readFirstToken, {
    doc: 'key sent to the hub as x-api-key; of several (OLD,NEW) the first is sent',
    secret: true,
    essential: true
  }),
  MAX_HUB_WAIT_MS: integer({ default: 300_000, doc: 'ms to wait for the hub at start before giving up' })
} as const;

/** Values of `hubClientVariables`. */
export type HubClientConfig = Values<typeof hubClientVariables>;

/** Reads an entry such as `10.0.0.5:10000`. */
function readHostPort(entry: string): { host: string; port: number } {
  const [, host, portText] = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(entry) ?? [];
  if (!host || Number(portText) > 65_535) throw new Error(`must be host:port entries, not "${entry}"`);
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(portText) };
}

/** Returns the hubs to ask, in order; empty when none is named. */
export function hubsOf({ HUB_API_HOST, HUB_PORT, HUB_VALIDATORS }: HubClientConfig): readonly {
  readonly host: string;
  readonly port: number;
}[] {
  if (HUB_VALIDATORS?.length) return HUB_VALIDATORS;
  return HUB_API_HOST === undefined ? [] : [{ host: HUB_API_HOST, port: HUB_PORT }];
}
