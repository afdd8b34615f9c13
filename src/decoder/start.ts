import type { DecoderActorData } from '../../actors/decoder/actor.ts';
import { activationHeight } from '../coin/profile.ts';
import { databaseOf } from '../config/database.ts';
import { networkOf, nodeRpcOf } from '../config/node.ts';
import { placeOf } from '../config/service.ts';
import type { DecoderConfig } from '../config/services/decoder.ts';
import { clearHalt } from '../db/clear-halt.ts';
import { chainPipeline } from '../follower/pipeline.ts';
import { actorReportOf } from '../follower/report.ts';
import type { RunningService, Start } from '../service/define.ts';
import { startSupervised } from '../service/life/supervised.ts';
import { monotonicMs } from '../wire/state/monotonic.ts';
import { createDecoderApp } from './app.ts';
import { decoderBaseOf } from './base.ts';
import type { ScanRules } from './block-scan.ts';
import type { DecoderReport } from './health.ts';
import { listMigrations, runMigrations } from './migration-orders.ts';
import { openDecoderStore } from './store.ts';

/** Starts the decoder. @see the section on the decoder's start-up order of the specification */
export function startDecoder(config: DecoderConfig, { service, log }: Start): Promise<RunningService> {
  const { chain, network, code, startBlock } = networkOf(config);
  const rules = scanRulesOf(config);
  if (rules.revealKeyHeight > 0)
    log.warn(
      { revealKeyHeight: rules.revealKeyHeight },
      'below REVEAL_KEY_CHECK of the profile, anybody who is paid at the address of a script can act in the name of the payer'
    );
  if (rules.signatureHeight > 0)
    log.warn(
      { signatureHeight: rules.signatureHeight },
      'below SIGNATURE_CHECK of the profile, anybody who completes a partly signed transaction can act in the name of its signer'
    );
  const id = { kind: 'decoder', chain, network } as const;
  const workerData: DecoderActorData = {
    chain,
    network,
    node: nodeRpcOf(config),
    coordinates: databaseOf(config, 'DECODER'),
    startBlock: config.DECODER_START_BLOCK ?? startBlock,
    pollIntervalMs: config.DECODER_POLL_INTERVAL,
    queryTimeoutMs: config.DB_QUERY_TIMEOUT,
    rules,
    dispenserLimitHeight: activationHeight(config.PLATFORM_PROFILE, networkOf(config), 'DISPENSER_LIMITS'),
    base: decoderBaseOf(rules, config.PLATFORM_PROFILE, networkOf(config)),
    logLevel: config.LOG_LEVEL
  };
  return startSupervised<DecoderReport, Record<never, never>>({
    service,
    id,
    code,
    config,
    log,
    workerData,
    place: placeOf(config, 'DECODER'),
    reportOf: actorReportOf,
    pipeline: (view) => chainPipeline(id, view, monotonicMs()),
    createApp: (parts) => createDecoderApp({ ...parts, config })
  });
}

/** Returns the rules for reading blocks of the configured network. */
function scanRulesOf(config: DecoderConfig): ScanRules {
  const { PAYLOAD_MAGIC, PLATFORM_PROFILE: profile, SOURCE_HOP } = config;
  const network = networkOf(config);
  return {
    magic: PAYLOAD_MAGIC ?? profile.payloadMagic,
    addresses: network.addresses,
    coins: [network.ticker, network.code],
    isMergeMined: network.chain === 'dogecoin',
    envelopeHeight: activationHeight(profile, network, 'TAPROOT_ENVELOPE'),
    feeAddress: profile.roles[network.name]?.FEE_DESTINATION ?? null,
    alwaysHops: SOURCE_HOP === 'always',
    revealKeyHeight: activationHeight(profile, network, 'REVEAL_KEY_CHECK'),
    signatureHeight: activationHeight(profile, network, 'SIGNATURE_CHECK'),
    feeOnceHeight: activationHeight(profile, network, 'FEE_ONCE'),
    paymentLimitHeight: activationHeight(profile, network, 'DISPENSER_LIMITS')
  };
}

/** Orders of its options, each carried out in place of the service. */
export const decoderOrders = {
  clearHalt: async (config: DecoderConfig) => {
    const options = { queryTimeoutMs: config.DB_QUERY_TIMEOUT };
    return await clearHalt((await openDecoderStore(databaseOf(config, 'DECODER'), options)).database);
  },
  migrate: (config: DecoderConfig) => runMigrations(databaseOf(config, 'DECODER')),
  migrations: (config: DecoderConfig) => listMigrations(databaseOf(config, 'DECODER'))
} as const;
