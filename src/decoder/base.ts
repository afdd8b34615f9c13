import type { ChainNetwork } from '../coin/chains.ts';
import { activationHeight, type Profile } from '../coin/profile.ts';
import { bindBase, type DatabaseBase } from '../db/base.ts';
import { rows, type Statements } from '../db/connection.ts';
import type { ScanRules } from './block-scan.ts';
import { DECODER_BASE } from './schema.ts';

/** Version of the rules: raise it when a rule with an activation height is added. @see DatabaseBase */
const RULES_VERSION = 1;
/** Activation heights of a profile on which a decoder's rows depend. */
const RULES = ['TAPROOT_ENVELOPE', 'REVEAL_KEY_CHECK', 'SIGNATURE_CHECK', 'FEE_ONCE', 'DISPENSER_LIMITS'] as const;

/** Returns everything beside the chain that decides a decoder's rows. */
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

/**
 * Binds a decoder database to its base, or refuses another base. @throws {PlatformError} DATABASE_UNUSABLE @see
 * bindBase
 */
export async function bindDecoderBase(connection: Statements, base: DatabaseBase): Promise<void> {
  const [newest] = await rows<{ height: number | null }>(connection, 'SELECT MAX(block_index) AS height FROM blocks');
  await bindBase(connection, DECODER_BASE, base, newest?.height ?? -1);
}
