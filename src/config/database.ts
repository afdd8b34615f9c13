import { readAuthorities } from './authorities.ts';
import { type HubPlace, parsed, port, text, type Variable } from './variables.ts';

type Settings<P extends string, Name extends string, T> = { readonly [K in `${P}_DB_${Name}`]: T };

/** The variables of one database: `<PREFIX>_DB_HOST` and its siblings. */
type DatabaseVariables<P extends string> = Settings<P, 'HOST' | 'NAME' | 'USER' | 'PASS', Variable<string>> &
  Settings<P, 'PORT', Variable<number>> &
  Settings<P, 'CA', Variable<string | undefined>>;

/** Services that may have an account of their own in a module of the hub's configuration. */
export const ACCOUNT_ROLES = ['decoder', 'indexer', 'explorer', 'tracker', 'sync'] as const;
type AccountRole = (typeof ACCOUNT_ROLES)[number];

type DatabaseConfig<P extends string> = Settings<P, 'HOST' | 'NAME' | 'USER' | 'PASS', string> &
  Settings<P, 'PORT', number> &
  Settings<P, 'CA', string | undefined>;

/**
 * Declares the variables of one database.
 *
 * @param prefix `DECODER` for DECODER_DB_HOST
 * @param of words that follow "MariaDB": `of the decoder`
 * @param name an example of the database's name
 * @param optional whether the service can do without the database
 * @param service the service whose module of the hub's configuration has the values; absent when the hub has none
 * @param role the service that reads them: `user_<role>` and `pass_<role>` of the module go before `user` and `pass`
 */
export function databaseVariables<P extends string>(
  prefix: P,
  {
    of,
    name,
    service,
    role,
    optional = false
  }: { readonly of: string; readonly name: string; readonly optional?: boolean } & (
    | { readonly service: string; readonly role: AccountRole }
    | { readonly service?: never; readonly role?: never }
  )
): DatabaseVariables<P> {
  const at = (...params: string[]): { hub?: HubPlace } => (service ? { hub: { service, params } } : {});
  const accountAt = (...params: string[]): { hub?: HubPlace } =>
    service ? { hub: { service, params, group: prefix } } : {};
  const variables: Record<string, Variable<unknown>> = {
    [`${prefix}_DB_HOST`]: text({
      required: true,
      doc: `MariaDB ${of}`,
      example: '127.0.0.1',
      ...accountAt('db_host', 'host')
    }),
    [`${prefix}_DB_PORT`]: port({ default: 3306, doc: 'its port', ...accountAt('db_port', 'port') }),
    [`${prefix}_DB_NAME`]: parsed(readDatabaseName, {
      required: true,
      doc: 'its database',
      example: name,
      ...at('name')
    }),
    [`${prefix}_DB_USER`]: text({
      required: true,
      doc: 'its user',
      example: prefix.toLowerCase(),
      ...accountAt(`user_${role}`, 'user')
    }),
    [`${prefix}_DB_PASS`]: text({
      required: true,
      doc: 'its password',
      secret: true,
      ...accountAt(`pass_${role}`, 'pass')
    }),
    [`${prefix}_DB_CA`]: parsed(readAuthorities, {
      doc: 'PEM file of CA certificates for its server: encrypts the connection, and refuses a certificate of another authority or name',
      example: '/etc/ssl/mariadb-ca.pem'
    })
  };
  const spared = Object.entries(variables).map(([at, variable]) => [at, { ...variable, required: false }] as const);
  return (optional ? Object.fromEntries(spared) : variables) as unknown as DatabaseVariables<P>;
}

/** Checks the name of a database that a service creates. @throws {Error} whose message is the reason */
function readDatabaseName(name: string): string {
  if (!/^[A-Za-z0-9_]{1,64}$/.test(name)) throw new Error('must be 1 to 64 letters, digits or _');
  return name;
}

/** Finds two databases that are the same one. Ignores one without a name. @returns one sentence per fault */
export function findSameDatabase<P extends string>(
  config: Partial<Settings<NoInfer<P>, 'HOST' | 'NAME', string> & Settings<NoInfer<P>, 'PORT', number>>,
  one: P,
  other: P
): string[] {
  const placeOf = (prefix: P) => [
    config[`${prefix}_DB_HOST`],
    config[`${prefix}_DB_PORT`],
    config[`${prefix}_DB_NAME`]
  ];
  const name = config[`${one}_DB_NAME`];
  return name !== undefined && placeOf(one).join(' ') === placeOf(other).join(' ')
    ? [`${one}_DB_NAME and ${other}_DB_NAME are both ${name}: name the database of each`]
    : [];
}

/** Returns coordinates and account of a database. `pass` is a secret. */
export function databaseOf<P extends string>(config: DatabaseConfig<P>, prefix: P) {
  const ca = config[`${prefix}_DB_CA`];
  return {
    host: config[`${prefix}_DB_HOST`],
    port: config[`${prefix}_DB_PORT`],
    name: config[`${prefix}_DB_NAME`],
    user: config[`${prefix}_DB_USER`],
    pass: config[`${prefix}_DB_PASS`],
    ...(ca === undefined ? {} : { tls: { ca } })
  };
}
