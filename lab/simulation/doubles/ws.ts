import { EventEmitter } from 'node:events';
import { stage } from '../host/stage.ts';

/** `ws` on the simulated network. */
export default class WebSocket extends EventEmitter {
  static readonly OPEN = 1;
  readyState = 0;
  readonly #close: () => void;

  constructor(url: string) {
    super();
    this.#close = stage.network.open(url, this);
  }

  send(): void {
    if (this.readyState !== WebSocket.OPEN) throw new Error('the socket is not open');
  }

  ping(): void {
    // Answers to it are not simulated: only what /status says depends on them.
  }

  close(): void {
    this.terminate();
  }

  terminate(): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.#close();
  }
}
