import type { ChainNetwork } from '../../coin/chains.ts';
import { activationHeight, type Profile } from '../../coin/profile.ts';
import type { DatabaseBase } from '../../db/base.ts';

/**
 * Version of the rules and of what a database keeps for them. No release of a lower version opens the database.
 *
 * From 2 on, rows of `deciding_actions` and `list_counts` tell the members and sizes of lists, from 3 on those of
 * `offer_edits` the terms of offers. A release that does not write them would leave them wrong.
 */
const RULES_VERSION = 3;

/** Parts of a profile that the ledger does not depend on, or that the rest of this file reads. */
const APART: ReadonlySet<string> = new Set([
  'name',
  'payloadMagic',
  'gas',
  'gasPrice',
  'roles',
  'stakeDelays',
  'activations'
]);

/** Rules that change nothing where no gas is charged: then a ledger does not depend on their heights. */
const OF_GAS: ReadonlySet<string> = new Set(['PAID_EDITS']);

/** Returns the base of a network's ledger under a profile. @param domain  COMMITMENT_DOMAIN */
export function ledgerBaseOf(profile: Profile, network: ChainNetwork, domain: string): DatabaseBase {
  const { gas, gasPrice, roles, stakeDelays, activations } = profile;
  const isCharged = Object.values(gas).some((price) => price > 0);
  const further = Object.entries(profile).filter(([name]) => !APART.has(name));
  return {
    version: RULES_VERSION,
    settings: {
      network: network.name,
      commitmentDomain: domain,
      gas: isCharged ? canonical({ gas, gasPrice }) : 'none',
      roles: canonical(roles[network.name] ?? {}),
      stakeDelay: String(stakeDelays[network.name] ?? network.activationDelayBlocks),
      ...Object.fromEntries(further.map(([name, value]) => [name, canonical(value)]))
    },
    ruledSettings: { limits: 'LIMITS' },
    activations: Object.fromEntries(
      Object.keys(activations)
        .filter((name) => isCharged || !OF_GAS.has(name))
        .map((name) => [name, activationHeight(profile, network, name)])
    )
  };
}

/** Returns JSON with the keys of each object in order. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  );
}
