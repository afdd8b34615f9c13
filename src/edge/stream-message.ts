import { createHash } from 'node:crypto';
import { PlatformError } from '../errors.ts';
import type { Nats } from '../sync/relay/link.ts';
import type { RecordHead } from '../sync/relay/record.ts';
import { type DatabaseId, databaseKey } from '../wire/data/database.ts';
import { envelopeOf } from '../wire/envelope.ts';
import { bytesOf } from './stored-object.ts';

/** The part of a stored message that is read. */
export interface StoredMessage {
  readonly seq: number;
  readonly data: Uint8Array;
  readonly headers?: { get(name: string): string; has(name: string): boolean } | undefined;
}

/** A message of a stream, with its body checked. */
export interface StreamMessage extends Pick<RecordHead, 'type' | 'height' | 'hash' | 'previous' | 'schema'> {
  /** Empty: a block that is longer than clients take. */
  readonly body: Uint8Array;
  /** The body's plain members; of a `point` or `break` all. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const TYPES: readonly string[] = [
  'block',
  'reorg',
  'amendment',
  'settled',
  'point',
  'break'
] satisfies readonly RecordHead['type'][];

/** The client's words for a bucket that is not there. */
const NO_BUCKET = /^(?:object store|stream) not found$/;

/**
 * Reads a message, and its body where that is stored apart.
 *
 * @param lost aborted when the body is not waited for any more
 * @throws {PlatformError} STREAM_BODY_DIFFERS, with `isGone` where a body is not stored; STREAM_FOREIGN
 */
export async function readMessage(
  nats: Nats,
  id: DatabaseId,
  message: StoredMessage,
  lost: AbortSignal
): Promise<StreamMessage> {
  const headerOf = (name: string) => {
    const full = `Platform-${name}`;
    return message.headers?.has(full) ? message.headers.get(full) : null;
  };
  const [type, height] = [headerOf('Type') ?? '', Number(headerOf('Height'))];
  if (!TYPES.includes(type) || !Number.isSafeInteger(height)) throw foreign(id, message, 'is of no known type');
  const [bucket, key] = [headerOf('Bucket'), headerOf('Key')];
  const body =
    bucket === null || key === null ? message.data : await readObject(nats, { bucket, key, seq: message.seq }, lost);
  const sha256 = createHash('sha256').update(body).digest('hex');
  if (body.length !== Number(headerOf('Size')) || sha256 !== headerOf('Sha256'))
    throw new PlatformError('STREAM_BODY_DIFFERS', {
      reason: `message ${message.seq} of ${databaseKey(id)} has ${body.length} bytes and another hash than its headers say`
    });
  const facts = body.length === 0 ? {} : readFacts(id, message, body, type === 'point' || type === 'break');
  return {
    type: type as RecordHead['type'],
    height,
    body,
    facts,
    hash: headerOf('Hash'),
    previous: headerOf('Previous'),
    schema: headerOf('Schema')
  };
}

async function readObject(
  nats: Nats,
  { bucket, key, seq }: Readonly<{ bucket: string; key: string; seq: number }>,
  lost: AbortSignal
): Promise<Uint8Array> {
  const what = `the body of message ${seq}`;
  const parts: Uint8Array[] = [];
  let isGone: boolean;
  try {
    const found = await (await nats.objects.open(bucket)).get(key);
    isGone = found === null;
    if (found) for await (const part of bytesOf(found, lost)) parts.push(part);
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new PlatformError(
      'STREAM_BODY_DIFFERS',
      { reason: `${what} cannot be read: ${text}`, isGone: NO_BUCKET.test(text) },
      { cause }
    );
  }
  if (isGone) throw new PlatformError('STREAM_BODY_DIFFERS', { reason: `${what} is not stored`, isGone });
  return Buffer.concat(parts);
}

function readFacts(id: DatabaseId, message: StoredMessage, body: Uint8Array, isWhole: boolean): StreamMessage['facts'] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  let facts: StreamMessage['facts'];
  try {
    facts = JSON.parse(isWhole ? bytes.toString('utf8') : envelopeOf(bytes));
  } catch {
    throw foreign(id, message, 'is no JSON');
  }
  const { chain, network, dbType } = facts;
  if (chain !== id.chain || network !== id.network || dbType !== id.dbType)
    throw foreign(id, message, `is of ${String(dbType)}/${String(chain)}/${String(network)}`);
  return facts;
}

function foreign(id: DatabaseId, { seq }: StoredMessage, what: string): PlatformError {
  return new PlatformError('STREAM_FOREIGN', { reason: `message ${seq} in the stream of ${databaseKey(id)} ${what}` });
}
