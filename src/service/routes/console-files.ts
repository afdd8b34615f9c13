import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** One static file of the console, ready to send. */
export interface ConsoleFile {
  readonly type: string;
  readonly etag: string;
  readonly body: Uint8Array;
  readonly gzipped: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml'
};

/** Compresses the console's files once, a hundred kilobytes, and leaves out what the page does not load. */
export async function prepareConsoleFiles(built: ReadonlyMap<string, Uint8Array>): Promise<Map<string, ConsoleFile>> {
  const files = new Map<string, ConsoleFile>();
  for (const [name, body] of built) {
    const type = TYPES[extname(name)];
    if (!type) continue;
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    files.set(name, { type, etag, body, gzipped: await promisify(gzip)(body) });
  }
  return files;
}
