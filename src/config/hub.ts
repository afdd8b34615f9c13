import { choice, integer, port, text } from './variables.ts';

const databaseName = text({ required: true, doc: 'its database, made when it is missing', example: 'Platform_Hub' });

/** Every variable of the hub. @see the section "Shared configuration" of the specification */
export const hubVariables = {
  HUB_HOST: text({ default: '0.0.0.0', doc: 'address to listen on', example: '127.0.0.1' }),
  HUB_PORT: port({ default: 10_000, doc: 'port of the JSON-RPC interface' }),
  HUB_DB_HOST: text({ required: true, doc: 'MariaDB of the hub', example: '127.0.0.1' }),
  HUB_DB_PORT: port({ required: true, doc: 'its port', example: '3306' }),
  HUB_DB_NAME: {
    ...databaseName,
    parse: (name: string) => {
      if (!/^[A-Za-z0-9_]{1,64}$/.test(name)) throw new Error('must be 1 to 64 letters, digits or _');
      return name;
    }
  },
  HUB_DB_USER: text({ required: true, doc: 'its user', example: 'hub' }),
  HUB_DB_PASS: text({ required: true, doc: 'its password', secret: true }),
  HUB_API_KEY: text({ doc: 'asked of writers as X-API-Key; unset: anyone may write', secret: true }),
  HUB_RATE_LIMIT_RPM: integer({ default: 100, min: 1, doc: 'requests per minute and address' }),
  LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], {
    default: 'info',
    doc: 'least level that is logged'
  })
} as const;

/** Names beginning with HUB_ that services beside the hub read; no reason to warn. */
export const HUB_PATTERNS = [/^HUB_(?:API_HOST|VALIDATORS|REPOLL_INTERVAL|CAPABILITY_CONFIG)$/] as const;
