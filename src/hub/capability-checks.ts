import { CAPABILITIES, type MinimumStakes } from '../coin/capabilities.ts';
import { parseAmount } from '../consensus/amount.ts';
import { hasCode } from '../errors.ts';
import type { ChainFacts } from './chain-facts.ts';
import type { CapabilityCheck } from './federation/node/capabilities.ts';
import type { PricesState } from './store/asks.ts';

interface CheckedHub {
  /** Its key. */
  readonly pubkey: string;
  readonly minimumStakes: MinimumStakes;
  readonly facts: Pick<ChainFacts, 'stakeOf' | 'indexersAnswer' | 'hasRound'>;
  /** Way in which it publishes rounds; null: it is not set up to do so. */
  readonly publishing: PublishingSetup | null;
  /** State of the search for prices; undefined: this hub has no sources. */
  readonly pricing: () => PricesState | undefined;
  readonly roundIntervalMs: number;
  /** Takes a fault that is for its operator alone: what a self-test says is told to all who ask a hub of the set. */
  readonly warn: (fault: string) => void;
}

/** A hub's own means of publishing. */
interface PublishingSetup {
  /** Address that pays. */
  readonly address: string;
  /** @throws {PlatformError} PUBLISHING_FAILED when its encoder makes no transactions */
  test(): Promise<void>;
}

/** Findings about a hub. */
interface CheckedCapabilities {
  readonly checks: readonly CapabilityCheck[];
  /** Block of Bitcoin at which its stake was counted; null where nobody could say. */
  readonly height: number | null;
}

/** Rounds for which the last prices that were found count. */
const ROUNDS_FRESH = 2;

/** Finds out which capabilities a hub has the stake for, as its own indexer of Bitcoin says, and which self-tests pass. */
export async function checkCapabilities(hub: CheckedHub): Promise<CheckedCapabilities> {
  const { pubkey, minimumStakes, facts } = hub;
  const isStaked = Object.keys(minimumStakes).length > 0;
  const found = isStaked ? await facts.stakeOf(pubkey) : null;
  const stake = found && parseAmount(found.stake);
  const checks: CapabilityCheck[] = [];
  for (const name of CAPABILITIES) {
    const least = minimumStakes[name];
    const hasStake = least === undefined ? false : stake === null ? null : stake >= parseAmount(least)!;
    const reason = await findFault(name, hub, found?.source ?? null);
    checks.push({ name, hasStake, passes: reason === null, reason });
  }
  return { checks, height: found?.height ?? null };
}

/** Returns why a capability is not served now; null where it is. */
async function findFault(
  name: (typeof CAPABILITIES)[number],
  hub: CheckedHub,
  staker: string | null
): Promise<string | null> {
  switch (name) {
    case 'price':
      return findPriceFault(hub);
    case 'cross_chain': {
      const answers = await hub.facts.indexersAnswer();
      if (answers.length === 0) return 'CAPABILITY_INDEXERS names no indexer';
      const silent = answers.filter(({ isUp }) => !isUp).map(({ chain }) => chain);
      return silent.length === 0 ? null : `the indexer of ${silent.join(', ')} does not answer`;
    }
    case 'oracle_publish':
      return await findPublishingFault(hub, staker);
    case 'attestation':
      return 'this version has no providers of attestations';
  }
}

/** @param staker  address of this hub's stake; null: nobody told it */
async function findPublishingFault(
  { publishing, facts, warn }: CheckedHub,
  staker: string | null
): Promise<string | null> {
  if (!publishing) return 'ORACLE_PUBLISH_ENCODER names no encoder';
  const { address } = publishing;
  if (staker !== null && staker !== address)
    return `the stake of this hub is of ${staker}: the ledger takes no prices from ${address}`;
  if ((await facts.hasRound(0)) === null) return 'its indexer of BTC does not answer, or is behind its coin node';
  try {
    await publishing.test();
    return null;
  } catch (caught) {
    if (!hasCode(caught, 'PUBLISHING_FAILED')) throw caught;
    warn(String(caught.detail['reason'])); // it may name a host and a port
    return 'its encoder does not answer, or is not well: its log has more';
  }
}

function findPriceFault({ pricing, roundIntervalMs }: CheckedHub): string | null {
  const state = pricing();
  if (!state) return 'PRICE_SOURCES names no source';
  const { answered, keptAt, lastError } = state;
  const now = performance.timeOrigin + performance.now();
  if (keptAt === null || now - keptAt > ROUNDS_FRESH * roundIntervalMs) return 'no round of prices was found of late';
  return answered > 0 ? null : (lastError ?? 'no source answered');
}
