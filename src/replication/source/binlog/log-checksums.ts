import type ZongJi from '@vlasky/zongji';

/** Type of the event at the head of a file. */
const FORMAT = 15;
/** Offset of the type in a packet: behind its marker and the event's time. */
const TYPE_AT = 5;
/** Distance from a head's end to the byte that says whether the file's events have checksums: the head's own comes last, used or not. */
const ALGORITHM_FROM_END = 5;

/** A packet of the driver. */
interface Packet {
  readonly buffer: Buffer;
  readonly offset: number;
  readonly end: number;
}

type Take = (this: unknown, packet: Packet, connection: unknown) => unknown;

/**
 * Calls back before a file is read whose events end otherwise than the reader takes them to. It asks once for each connection whether
 * they end with checksums, and reads statements cut, or with what stands behind them, where `binlog_checksum` was changed. Call it when
 * the reader is ready.
 *
 * @param found returns when the reader is stopped
 */
export function onOtherChecksums(reader: ZongJi, found: () => void): void {
  const { BinlogClass, useChecksum } = reader as unknown as {
    readonly BinlogClass: { readonly prototype: { binlogData: Take } };
    readonly useChecksum: boolean;
  };
  const command = BinlogClass.prototype;
  const take = command.binlogData;
  command.binlogData = function (packet, connection) {
    const { buffer, offset, end } = packet;
    const isHead = end - offset > TYPE_AT && buffer[offset] === 0 && buffer[offset + TYPE_AT] === FORMAT;
    if (isHead && (buffer[end - ALGORITHM_FROM_END] !== 0) !== useChecksum) found();
    return take.call(this, packet, connection);
  };
}
