import type { Socket } from 'node:net';

/** Nearly every request comes in one. */
const SLICE_BYTES = 2_048;

/**
 * Hands over what a connection sends in small slices, at most one in each turn of the event loop, and none after it is
 * destroyed. A socket is read 64 KiB at a time, which a parser would finish before anybody else has a turn: ten
 * thousand chunks of a body, or frames. Less than 128 KiB are read and not handed over.
 *
 * @param socket  who listens to its `data` pauses and resumes it as any other
 */
export function readInSlices(socket: Socket): void {
  let isPaused = false;
  let next: NodeJS.Immediate | undefined;
  const take = () => {
    next = undefined;
    if (isPaused || socket.destroyed) return;
    const size = Math.min(SLICE_BYTES, socket.readableLength);
    socket.read(size); // of 0 bytes: tells the end, if it has come
    if (size > 0) next ??= setImmediate(take);
  };
  Object.assign(socket, {
    isPaused: () => isPaused,
    pause: () => {
      isPaused = true;
      return socket;
    },
    resume: () => {
      if (isPaused) next ??= setImmediate(take); // not at once: it may be the parser itself who asks
      isPaused = false;
      return socket;
    }
  });
  socket.on('readable', () => {
    if (!next) take();
  });
}
