import type { KeptBody } from './kept-result.ts';

/** A result whose JSON was written elsewhere: a single call is answered with these bytes; in a batch it is an ordinary value. */
export class JsonResult<T = unknown> {
  readonly json: Buffer;

  constructor(json: Buffer) {
    this.json = json;
  }

  toJSON(): T {
    return JSON.parse(this.json.toString());
  }

  async between(before: string, after: string): Promise<KeptBody> {
    return { bytes: Buffer.concat([Buffer.from(before), this.json, Buffer.from(after)]), coding: 'identity' };
  }
}
