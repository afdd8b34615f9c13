import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Reads a PEM file of certificates. @throws {Error} when it cannot be read or holds no certificate */
export function readAuthorities(path: string): string {
  const pem = readFileSync(path, 'utf8');
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs) ?? [];
  if (certificates.length === 0) throw new Error('must be a PEM file that holds a certificate');
  for (const certificate of certificates) void new X509Certificate(certificate);
  return pem;
}
