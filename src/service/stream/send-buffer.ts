import type { Socket } from 'node:net';

/** The bytes given to a connection to send. */
export interface SendBuffer {
  /** Not taken by the kernel yet. */
  readonly waitingBytes: number;
  /** Taken by the kernel since the connection began. */
  readonly takenBytes: number;
}

/** Members of a socket that Node itself judges idle sockets by, and has no public reader for. */
interface Internals {
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null;
  /** `writelen`: bytes of the write under way, which `writableLength` counts in full until it ends. */
  readonly _writableState: { readonly writelen: number };
}

const EMPTY: SendBuffer = { waitingBytes: 0, takenBytes: 0 };

/**
 * Reads the send buffer of a TCP connection. `bufferedAmount` of a WebSocket and `writableLength` count a write in full until
 * its last byte is out, and all messages that wait behind one write become the next: neither says whether a peer reads.
 */
export function readSendBuffer(socket: Socket): SendBuffer {
  const { _handle: handle, _writableState: state } = socket as Socket & Internals;
  if (!handle) return EMPTY;
  return {
    waitingBytes: socket.writableLength - state.writelen + handle.writeQueueSize,
    takenBytes: handle.bytesWritten - handle.writeQueueSize
  };
}
