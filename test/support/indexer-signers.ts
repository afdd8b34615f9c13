import nacl from 'tweetnacl';

/** A key that tests sign with. */
export interface TestSigner {
  /** 64 small hex digits. */
  readonly pubkey: string;
  /** @returns 128 hex digits */
  readonly sign: (message: string | Uint8Array) => string;
}

/** The signer of a name: the same key for the same name. */
export function testSigner(name: string): TestSigner {
  const seed = Buffer.alloc(32);
  seed.write(name);
  const { publicKey, secretKey } = nacl.sign.keyPair.fromSeed(seed);
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
  return {
    pubkey: hex(publicKey),
    sign: (message) => hex(nacl.sign.detached(Buffer.from(message), secretKey))
  };
}

/** When rounds are of that name no time, in epoch seconds. */
const FIRST_TIME = 1_700_000_000;

/** Content of a round of prices. */
interface TestRound {
  readonly round: number;
  readonly height: number;
  /** Epoch seconds; FIRST_TIME unless given. */
  readonly timestamp?: number;
  readonly pairs: readonly (readonly [pair: string, price: string])[];
}

/** The text of a PRICE that some signed. */
export function priceText(
  { round, height, pairs, timestamp = FIRST_TIME }: TestRound,
  signers: readonly TestSigner[]
): string {
  const sorted = [...pairs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([pair, price]) => ({ pair, price }));
  const signedText = JSON.stringify({ round, timestamp, btc_block_height: height, pairs: sorted });
  const sigs = signers.map(({ pubkey, sign }) => [pubkey, sign(signedText)]);
  const fields = [round, timestamp, height, pairs.length, ...pairs.flat(), sigs.length, ...sigs.flat()];
  return `PRICE|0|${fields.join('|')}`;
}

/** One message of a slot with its signature, as a SLASH takes them. */
export function slotMessage(signer: TestSigner, content: object, slot = 'EQUIV|oracle|7|0||'): [string, string] {
  const message = Buffer.from(slot + JSON.stringify(content));
  return [message.toString('base64url'), signer.sign(message)];
}
