/** Reads the pieces of a body that came from outside, as one. @throws what `tooLong` makes, when they are more than `mostBytes` */
export async function readBounded(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mostBytes: number,
  tooLong: () => Error
): Promise<Buffer> {
  const kept: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of pieces) {
    sizeBytes += piece.length;
    if (sizeBytes > mostBytes) throw tooLong();
    kept.push(piece);
  }
  return Buffer.concat(kept);
}
