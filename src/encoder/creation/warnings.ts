/** Texts of warnings beside a successful answer. */
const WARNINGS = {
  SURPLUS_TO_FEE: 'the remainder is too small for an output and goes to the miner',
  SIGNER_NEEDS_SCRIPTS:
    "the second transaction spends a script, which a node's wallet cannot sign: unless your signer can, do not broadcast the first one, and ask with options.signerSupportsScripts: false",
  KEY_IS_WHOLE:
    'a taproot address does not tell the first byte of its key: the second transaction can be signed only if it is that of compressedPubKey. If you know 32 bytes of the key, do not broadcast the first one',
  OUTPUTS_NEED_KEY:
    'a taproot address does not tell the first byte of its key: what the outputs hold can be spent only if it is that of compressedPubKey',
  FIRST_HOLDS_MORE:
    'the first transaction holds more than the second one needs, and what is left over comes back as change: if the first call had other customOutputs or another feePerKb, send them again',
  REVEAL_NEEDED:
    'sign and broadcast psbt, then call create_tx again with its txid in p2shHash: that reveals the action',
  UNKNOWN_PARAMETER: 'create_tx has no such parameter',
  FEE_RATE_RAISED:
    "feePerKb is in satoshis per 1000 virtual bytes, and below what the node takes: the node's least rate is paid instead",
  NO_FEE_ESTIMATE:
    'the node has no estimate, or one above ENCODER_MAX_FEE_RATE: the least fee that it relays is paid, and the transaction may wait for long; give feePerKb',
  FEE_AS_FUNDED:
    "the first transaction left less than the node's estimate asks for by now: the second one pays all of it, and may wait for long",
  KEEP_FIRST_INPUT:
    "the first input's txid obfuscates the action: a wallet that replaces the transaction with another first input pays for an action that nobody can read",
  NODES_REPLACE_NOTHING:
    'nodes of this chain replace nothing unless they run with mempoolreplacement=1: most will neither relay nor mine a replacement',
  NOT_REPLACEABLE:
    'the transaction did not say that it may be replaced: only nodes that replace any transaction take another',
  NO_PEERS:
    'the coin node has no peers: it keeps the transaction, and nobody gets it until the node has some. Send the same tx_hex again then',
  REVEAL_ANEW:
    'the replacement has another id: a second transaction that spends from it is built anew, by create_tx with the signed replacement in p2shHex, and with the customOutputs of the first call, [] for none'
} as const;
/** A code of `WARNINGS`. */
type WarningCode = keyof typeof WARNINGS;

/** A warning, alone or with the text that it is about. */
export type Warning = WarningCode | readonly [code: WarningCode, about: string];

/** Returns the `warnings` field of an answer; no field without warnings. */
export function warn(warnings: readonly Warning[]) {
  if (warnings.length === 0) return {};
  const texts = warnings.map((warning) => {
    const [code, about] = typeof warning === 'string' ? [warning] : warning;
    return { code, message: about === undefined ? WARNINGS[code] : `${WARNINGS[code]}: ${about}` };
  });
  return { warnings: texts };
}
