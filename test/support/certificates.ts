import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes an authority, and a certificate that it signs for a name: `<name>.pem` and `.key` in the directory. */
export function certify(directory: string, authority: string, name: string): void {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const openssl = (...options: string[]) => execFileSync('openssl', options, { cwd: directory, stdio: 'pipe' });
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    `${authority}.key`,
    '-out',
    `${authority}.pem`,
    '-subj',
    `/CN=${authority}`
  );
  openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(join(directory, 'names'), `subjectAltName=DNS:${name}`);
  const signs = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`, '-CAcreateserial', '-extfile', 'names'];
  openssl('x509', '-req', '-in', `${name}.csr`, ...signs, '-out', `${name}.pem`);
}
