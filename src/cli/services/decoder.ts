import type { DecoderActorData } from '../../../actors/decoder/actor.ts';
import { monotonicMs } from '../../chain/monotonic.ts';
import { chainPipeline } from '../../chain/pipeline.ts';
import { actorReportOf } from '../../chain/report.ts';
import { activationHeight } from '../../coin/profile.ts';
import { databaseOf } from '../../config/database.ts';
import { networkOf, nodeRpcOf } from '../../config/node.ts';
import { placeOf } from '../../config/service.ts';
import { type DecoderConfig, decoderChecks, decoderVariables } from '../../config/services/decoder.ts';
import { createDecoderApp } from '../../decoder/app.ts';
import { decoderBaseOf } from '../../decoder/base.ts';
import type { ScanRules } from '../../decoder/block-scan.ts';
import type { DecoderReport } from '../../decoder/health.ts';
import { type DecoderStore, openDecoderStore } from '../../decoder/store.ts';
import type { Logger } from '../../log.ts';
import { clearHalt } from '../clear-halt.ts';
import type { Command, Environment } from '../command.ts';
import { listMigrations, runMigrations } from '../decoder-migrations.ts';
import { readOptions } from '../options.ts';
import { loadSettings } from '../settings.ts';
import { type RunningService, runService } from './run-service.ts';
import { startSupervised } from './supervised.ts';

/** Command `platform-node decoder`: parses the blocks of a coin node into a decoder database until a signal. */
export const decoderCommand = {
  name: 'decoder',
  summary: 'parses the blocks of a coin node into a decoder database',
  variables: decoderVariables,
  checks: decoderChecks,
  options: [
    '--clear-halt    allow the deep rollback that a stopped decoder refused, and end',
    '--migrate       apply all pending migrations, manual ones too, and end; stop the decoder and make a backup first',
    '--migrations    list all migrations with their state, and end'
  ],

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const options = readOptions(argv, {
      'clear-halt': { type: 'boolean' },
      migrate: { type: 'boolean' },
      migrations: { type: 'boolean' }
    });
    const loaded = await loadSettings(decoderCommand, env);
    if (options['clear-halt']) return await clearHalt((await openStore(loaded.values)).database);
    if (options.migrate) return await runMigrations(databaseOf(loaded.values, 'DECODER'));
    if (options.migrations) return await listMigrations(databaseOf(loaded.values, 'DECODER'));
    return await runService('decoder', loaded, startDecoder);
  }
} satisfies Command<typeof decoderVariables>;

/** Starts the decoder. @see the section on the decoder's start-up order of the specification */
function startDecoder(config: DecoderConfig, log: Logger): Promise<RunningService> {
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
    feeOnceHeight: activationHeight(profile, network, 'FEE_ONCE')
  };
}

function openStore(config: DecoderConfig): Promise<DecoderStore> {
  return openDecoderStore(databaseOf(config, 'DECODER'), { queryTimeoutMs: config.DB_QUERY_TIMEOUT });
}
