import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import mysql from 'mysql2';
import { readAuthorities } from '../../../src/config/authorities.ts';
import { connect, rows } from '../../../src/db/connection.ts';
import { openWriter } from '../../../src/replication/replica/database/writer-connection.ts';
import { certify } from '../../support/certificates.ts';
import { createDatabase, startOwnServer } from '../../support/mariadb.ts';

const directory = mkdtempSync(join(tmpdir(), 'tls-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const at = (name: string) => join(directory, name);

test('TLS to MariaDB: encrypted, and refused where the certificate is of another authority or another name, or there is none', async () => {
  certify(directory, 'right', 'localhost');
  certify(directory, 'wrong', 'elsewhere.example');
  const secured = (name: string) =>
    startOwnServer([`--ssl-cert=${at(`${name}.pem`)}`, `--ssl-key=${at(`${name}.key`)}`]);
  const [server, named, plain] = await Promise.all([
    secured('localhost'),
    secured('elsewhere.example'),
    startOwnServer(['--skip-ssl'])
  ]);
  const tls = (name: string) => ({ tls: { ca: readAuthorities(at(`${name}.pem`)) } });
  const cipherOf = async (to: Parameters<typeof connect>[0]) => {
    const connection = await connect(to);
    const [found] = await rows(connection, "SHOW STATUS LIKE 'Ssl_cipher'");
    await connection.end();
    return found?.['Value'];
  };
  const here = { ...server.root, host: 'localhost' };
  assert.notEqual(await cipherOf({ ...here, ...tls('right') }), '');
  assert.equal(await cipherOf(here), '');
  await assert.rejects(connect({ ...here, ...tls('wrong') }), /certificate|signature/i);
  await assert.rejects(
    connect({ ...named.root, host: 'localhost', ...tls('wrong') }),
    /does not match|altnames|Hostname/i
  );
  await assert.rejects(connect({ ...plain.root, host: 'localhost', ...tls('right') }), /secure connection|SSL/i);
});

test('DATABASE_UNUSABLE: MySQL 8, named with what to use instead', async () => {
  // No MySQL can be had from Debian: what one answers to the first statement, by the driver's own server side.
  const columns = ['kind', 'version', 'bytes', 'hash'].map((name) => ({
    catalog: 'def',
    schema: '',
    table: '',
    orgTable: '',
    name,
    orgName: name,
    characterSet: 45,
    columnLength: 255,
    columnType: 253,
    flags: 0,
    decimals: 0
  }));
  const server = createServer((socket) => {
    const connection = mysql.createConnection({ stream: socket, isServer: true } as never);
    connection.on('error', () => undefined);
    connection.serverHandshake({
      protocolVersion: 10,
      serverVersion: '8.0.36',
      connectionId: 1,
      statusFlags: 2,
      characterSet: 45,
      capabilityFlags: 0xff_f7_ff,
      authCallback: (_: unknown, done: (fault: null, reply: null) => void) => done(null, null)
    });
    const peer = connection as unknown as {
      sequenceId: number;
      on(name: 'query', listener: (sql: string) => void): void;
      writeTextResult(rows: unknown[], columns: unknown[]): void;
      writeError(fault: { message: string; code: number }): void;
    };
    peer.on('query', (sql) => {
      peer.sequenceId = 1;
      if (sql.includes('VERSION()'))
        peer.writeTextResult([{ kind: '1', version: '8.0.36', bytes: '67108864', hash: 'x' }], columns);
      else peer.writeError({ code: 1193, message: "Unknown system variable 'max_statement_time'" });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close());
  const { port } = server.address() as { port: number };
  await assert.rejects(connect({ host: '127.0.0.1', port, user: 'u', pass: 'p' }), {
    code: 'DATABASE_UNUSABLE',
    message: /the server is MySQL 8\.0\.36.*use MariaDB 10\.6 or later/
  });
});

test('the lock of a machine that died ends by itself: its server ends a connection that is silent for ten minutes; who holds it is named', async () => {
  const to = await createDatabase('held');
  const writer = await openWriter(to, { generation: 1 });
  const [setting] = await rows(writer, 'SELECT @@wait_timeout AS seconds');
  assert.equal(setting?.['seconds'], 600);
  await assert.rejects(openWriter(to, { generation: 2, lockPatienceS: 0 }), {
    code: 'REPLICA_LOCKED',
    message: new RegExp(
      `connection \\d+ of its server \\(${to.user} from 127\\.0\\.0\\.1:\\d+, \\d+ s in its present state\\) holds the lock`
    )
  });
  await writer.end();
});
