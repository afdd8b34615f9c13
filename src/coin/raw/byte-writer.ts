/** 32 bytes of a transaction's or block's id, as they stand within transactions. @param id  hex */
export function idBytes(id: string): Buffer {
  return Buffer.from(id, 'hex').reverse();
}

/** Four bytes, the lowest first. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Eight bytes, the lowest first. */
export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** A count, up to 2^32, in the form that is as short as it can be. */
export function varInt(value: number): Buffer {
  if (value < 0xfd) return Buffer.from([value]);
  return value <= 0xffff
    ? Buffer.from([0xfd, value & 0xff, value >> 8])
    : Buffer.concat([Buffer.from([0xfe]), uint32(value)]);
}

/** Bytes behind their count. */
export function sized(bytes: Uint8Array): Buffer {
  return Buffer.concat([varInt(bytes.length), bytes]);
}
