/** What a caller should know of an answer that is no error. */
const WARNINGS = {
  SURPLUS_TO_FEE: 'what is left over is too little for an output, and goes to the miner',
  SIGNER_NEEDS_SCRIPTS:
    "the second transaction spends a script, which a node's wallet cannot sign: unless your signer can, do not broadcast the first one, and ask with options.signerSupportsScripts: false",
  REVEAL_NEEDED:
    'sign and broadcast psbt, then call create_tx again with its txid in p2shHash: that reveals the action',
  NOT_COMPRESSED: 'compress changes nothing: decoders read no compressed payloads'
} as const;
export type WarningCode = keyof typeof WARNINGS;

/** The field of an answer; without warnings it has none. */
export function warn(codes: readonly WarningCode[]) {
  return codes.length === 0 ? {} : { warnings: codes.map((code) => ({ code, message: WARNINGS[code] })) };
}
