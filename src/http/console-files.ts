import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** One static file of the console, ready to send. */
export interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
  readonly gzipped: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml'
};

/**
 * Reads the console's built files into memory: a hundred kilobytes, read once.
 *
 * @param directory where `npm run build:web` puts them
 * @returns by path below `/`; empty when the console was not built
 */
export async function readConsoleFiles(directory: string): Promise<Map<string, ConsoleFile>> {
  const files = new Map<string, ConsoleFile>();
  const names = await readdir(directory, { recursive: true }).catch(() => []);
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (!type) continue;
    const body = await readFile(join(directory, name));
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    files.set(name.replaceAll('\\', '/'), { type, etag, body, gzipped: await promisify(gzip)(body) });
  }
  return files;
}
