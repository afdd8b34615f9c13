import { execFile } from 'node:child_process';
import { PlatformError } from '../../errors.ts';

/** Time for a signer, which may ask a device. */
const PATIENCE_MS = 30_000;
/** Bytes of a signed transaction as hex, and some. */
const MOST_BYTES = 1_000_000;
/** The signer gets none of this hub's secrets. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * Has a program of the operator sign a transaction: it reads a PSBT as hex, and prints the signed transaction as hex.
 *
 * @throws {PlatformError} PUBLISHING_FAILED when it fails, takes too long, or prints something else
 */
export async function signWith(command: string, psbt: string): Promise<string> {
  const printed = await new Promise<string>((resolve, reject) => {
    const options = { timeout: PATIENCE_MS, maxBuffer: MOST_BYTES, env: ENVIRONMENT, killSignal: 'SIGKILL' } as const;
    const child = execFile(command, [], options, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(failed(command, `it ended with ${error.code ?? error.signal}: ${stderr.trim().slice(0, 200)}`));
    });
    child.stdin?.on('error', () => undefined); // it may end without having read all; how it ended is told above
    child.stdin?.end(`${psbt}\n`);
  });
  const hex = printed.trim().toLowerCase();
  if (/^(?:[0-9a-f]{2})+$/.test(hex)) return hex;
  throw failed(command, 'it printed no transaction as hex');
}

function failed(command: string, reason: string): PlatformError {
  return new PlatformError('PUBLISHING_FAILED', { reason: `ORACLE_PUBLISH_KEY_COMMAND=${command}: ${reason}` });
}
