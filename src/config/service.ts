import { choice, port, text, type Variable } from './variables.ts';

/** The least level that is logged, of every service. */
export const logVariables = {
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    doc: 'least level that is logged'
  })
} as const;

type ServiceVariables<P extends string> = { readonly [K in `${P}_API_HOST`]: Variable<string> } & {
  readonly [K in `${P}_API_PORT`]: Variable<number>;
} & typeof logVariables;

/**
 * Where a service listens, and what it logs.
 *
 * @param prefix `DECODER` for DECODER_API_PORT
 * @param service its name in the hub's configuration: `decoder` for `<prefix>-decoder`
 * @param usualPort of the specification's port map
 */
export function serviceVariables<P extends string>(
  prefix: P,
  { service, usualPort }: { readonly service: string; readonly usualPort: number }
): ServiceVariables<P> {
  const hub = { service, params: ['service_port'] };
  return {
    [`${prefix}_API_HOST`]: text({ default: '0.0.0.0', doc: 'address to listen on', example: '127.0.0.1' }),
    [`${prefix}_API_PORT`]: port({ default: usualPort, doc: 'port of its interface and its probes', hub }),
    ...logVariables
  } as unknown as ServiceVariables<P>;
}
