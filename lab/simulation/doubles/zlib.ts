import { Transform } from 'node:stream';
import { constants, createZstdDecompress, gunzipSync } from 'node:zlib';

export { constants, createZstdDecompress };

/** The same bytes and the same errors, without the thread pool, whose answers come in no order that a seed decides. */
export function createGunzip(): Transform {
  const parts: Buffer[] = [];
  return new Transform({
    transform(part: Buffer, _encoding, done) {
      parts.push(part);
      done();
    },
    flush(done) {
      try {
        done(null, gunzipSync(Buffer.concat(parts)));
      } catch (caught) {
        done(caught as Error);
      }
    }
  });
}
