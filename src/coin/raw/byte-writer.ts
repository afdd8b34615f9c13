/** Converts the id of a transaction or block to 32 bytes in internal order. @param id hex */
export function idBytes(id: string): Buffer {
  return Buffer.from(id, 'hex').reverse();
}

/** Returns four bytes, little-endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Returns eight bytes, little-endian. */
export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** Returns a count, up to 2^32, in its shortest form. */
export function varInt(value: number): Buffer {
  if (value < 0xfd) return Buffer.from([value]);
  return value <= 0xffff
    ? Buffer.from([0xfd, value & 0xff, value >> 8])
    : Buffer.concat([Buffer.from([0xfe]), uint32(value)]);
}

/** Returns bytes after their count. */
export function sized(bytes: Uint8Array): Buffer {
  return Buffer.concat([varInt(bytes.length), bytes]);
}
