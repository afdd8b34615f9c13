import { type Connection, type ConnectionOptions, createConnection as connectReal, createPool } from 'mysql2/promise';
import { serverAt } from '../database/memory-server.ts';

export { createPool };

/** The driver's own, but for hosts that are in memory. */
export async function createConnection(options: ConnectionOptions): Promise<Connection> {
  const server = serverAt(options.host ?? '');
  return server ? ((await server.connect()) as unknown as Connection) : connectReal(options);
}
