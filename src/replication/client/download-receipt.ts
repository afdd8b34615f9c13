import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { readSnapshotHead } from './snapshot-head.ts';
import type { SourceClient } from './source-client.ts';

/** The receipt stored with a download, so that a successor can resume it. */
export interface Receipt {
  readonly source: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly complete: boolean;
}

const receiptPath = (file: string): string => `${file}.json`;

export async function writeReceipt(file: string, receipt: Receipt): Promise<void> {
  await writeFile(receiptPath(file), JSON.stringify(receipt), { mode: 0o600 });
}

/** Reads a predecessor's receipt, if the download can be resumed: same source, strong tag. */
export async function readReceipt(
  file: string,
  { url, id }: SourceClient,
  path: string
): Promise<{ receipt: Receipt; size: number } | null> {
  try {
    const receipt = JSON.parse(await readFile(receiptPath(file), 'utf8')) as Receipt;
    const { size } = await stat(file);
    const { etag } = readSnapshotHead(receipt.headers, id.dbType);
    const usable = receipt.source === url && receipt.path === path && etag !== null;
    return usable && (size > 0 || !receipt.complete) ? { receipt, size } : null;
  } catch {
    return null; // nothing there, half-written or of another shape: it is fetched anew
  }
}

/** Removes a download and its receipt. */
export async function discardDownload(file: string): Promise<void> {
  await rm(receiptPath(file), { force: true });
  await rm(file, { force: true });
}
