/** A fault of the reader of a log: of its connection, of the server, or of one event. */
export type LogFault = Error & { readonly code?: string; readonly errno?: number };

/** Codes by which zlib and the buffers of Node name bytes that cannot be read. */
const OF_BYTES = /^(Z_|ERR_BUFFER_|ERR_OUT_OF_RANGE|ERR_INVALID_ARG_|ERR_STRING_TOO_LONG|ERR_ENCODING_)/;

/** Returns whether a fault says that an event could not be read, so that the next one comes: others end the connection. */
export function isOfEvent({ code, errno }: LogFault): boolean {
  return code === undefined ? errno === undefined : OF_BYTES.test(code);
}
