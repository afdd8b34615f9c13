import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SyncConfig } from '../config/services/sync.ts';
import { PlatformError } from '../errors.ts';

/** Reads the PEM text of SYNC_SOURCE_CA. @throws {PlatformError} CONFIG_INVALID when it cannot be read or holds no certificate */
export async function readSourceCa({ SYNC_SOURCE_CA: path }: SyncConfig): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    const pem = await readFile(path, 'utf8');
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs) ?? [];
    if (certificates.length === 0) throw new Error('it holds no certificate');
    for (const certificate of certificates) void new X509Certificate(certificate);
    return pem;
  } catch (cause) {
    const reason = `SYNC_SOURCE_CA=${path} cannot be used: ${(cause as Error).message}`;
    throw new PlatformError('CONFIG_INVALID', { reason }, { cause });
  }
}
