import type { ChainNetwork } from '../coin/chains.ts';
import { activationHeight, type Profile } from '../coin/profile.ts';
import { bindBase, type DatabaseBase } from '../db/core/base.ts';
import { type Connection, rows } from '../db/core/connection.ts';
import type { ScanRules } from './block-scan.ts';
import { DECODER_BASE } from './schema.ts';

/** The rules of this release. */
const RULES_VERSION = 1;
/** Rules of a profile that decide which rows a decoder writes. */
const RULES = ['TAPROOT_ENVELOPE', 'REVEAL_KEY_CHECK', 'SIGNATURE_CHECK', 'FEE_ONCE', 'DISPENSER_LIMITS'] as const;

/** Returns what a decoder's rows follow from, beside the chain. */
export function decoderBaseOf(
  { magic, alwaysHops, feeAddress }: Pick<ScanRules, 'magic' | 'alwaysHops' | 'feeAddress'>,
  profile: Profile,
  network: ChainNetwork
): DatabaseBase {
  return {
    version: RULES_VERSION,
    settings: {
      network: network.name,
      payloadMagic: magic,
      sourceHop: alwaysHops ? 'always' : 'auto',
      feeDestination: feeAddress ?? 'none'
    },
    activations: Object.fromEntries(RULES.map((name) => [name, activationHeight(profile, network, name)]))
  };
}

/** Ties a decoder database to a base. @throws {PlatformError} DATABASE_UNUSABLE @see bindBase */
export async function bindDecoderBase(connection: Pick<Connection, 'query'>, base: DatabaseBase): Promise<void> {
  const [newest] = await rows<{ height: number | null }>(connection, 'SELECT MAX(block_index) AS height FROM blocks');
  await bindBase(connection, DECODER_BASE, base, newest?.height ?? -1);
}
