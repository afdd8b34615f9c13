import { readRawTransaction } from '../../coin/raw/raw-transaction.ts';
import { PlatformError } from '../../errors.ts';

const PSBT_HEX = '70736274ff';
const PSBT_BASE64 = 'cHNidP';

/** Decodes a transaction in hex. @throws {PlatformError} REQUEST_INVALID, with a reason of its own for a PSBT */
export function readTransactionHex(text: string): Buffer {
  if (text.toLowerCase().startsWith(PSBT_HEX) || text.startsWith(PSBT_BASE64))
    throw invalid('this is a PSBT: let the signer finalize it, and send the hex of the transaction');
  if (!/^(?:[0-9a-fA-F]{2})+$/.test(text)) throw invalid('a transaction must be hex');
  const bytes = Buffer.from(text, 'hex');
  try {
    readRawTransaction(bytes);
  } catch (caught) {
    throw invalid(`this is not a transaction: ${(caught as Error).message}`);
  }
  return bytes;
}

const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
