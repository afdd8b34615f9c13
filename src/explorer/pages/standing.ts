import type { ChainNetwork } from '../../coin/chains.ts';
import { alarmText } from '../../wire/state/alarm.ts';
import { type ExplorerReport, lagOf } from '../report.ts';
import { type Html, html } from './html.ts';
import { amount, counted, type LinkTo, type Row, timeOf } from './parts.ts';

/** Blocks between ledger and decoder from which a reader is told. */
const MOST_LAG = 3;
/** Usual time between blocks of a chain in seconds, and how many such times make a newest block old. */
const SPACING_S: Readonly<Record<string, number>> = { BTC: 600, LTC: 150, DOGE: 60 };
const OLD = 12;

const NATURE: Readonly<Record<string, string>> = {
  mainnet: 'the main network, where coins and tokens are worth what people pay',
  testnet: 'a public network for tests, where coins and tokens are worth nothing',
  regtest: 'a private network for tests, where coins and tokens are worth nothing'
};

interface StandingParts {
  readonly network: ChainNetwork;
  readonly report: ExplorerReport | null;
  /** The newest block of the ledger. */
  readonly tip: Row | undefined;
  readonly linkTo: LinkTo;
}

/** Says what the network is and how far its ledger is; where it does not go on as it should, why. */
export function standingOf({ network, report, tip, linkTo }: StandingParts): Html {
  const { chain, network: kind } = network;
  const name = `${chain.charAt(0).toUpperCase()}${chain.slice(1)}`;
  const what = html`Transactions of ${name} carry actions: they issue, pay and trade tokens. This is the ledger of what they did, or why they were refused, on ${NATURE[kind] ?? kind}.`;
  const where = tip
    ? html`It is at block ${linkTo('block', tip['block_index'])}, made ${timeOf(tip['timestamp'])}.`
    : 'It has no block yet.';
  const problem = problemOf(network, report, tip);
  return html`<h1>Tokens on ${name} <small>${kind}</small></h1><p class="lead">${what} ${where}</p>${problem && html`<p class="notice" role="note">${problem}</p>`}`;
}

/** Says why the newest block is not what a reader may take it for; null where it is. */
function problemOf(network: ChainNetwork, report: ExplorerReport | null, tip: Row | undefined): Html | null {
  const alarm = alarmText(report?.upstream);
  if (alarm !== null) return html`The ledger does not go on: ${alarm}.`;
  const lag = report ? lagOf(report) : null;
  if (lag !== null && lag > MOST_LAG)
    return html`The ledger is ${counted(lag, 'block')} behind its decoder, which is at block ${amount(report!.decoderTip)}: newer actions are not judged yet.`;
  if (report?.state === 'stale')
    return html`Nobody knows how far the ledger is behind: its decoder ${report.decoderTip === null ? 'does not answer' : html`is at block ${amount(report.decoderTip)}, below the ledger`}.`;
  const age = Date.now() / 1_000 - Number(tip?.['timestamp'] ?? Number.NaN);
  const usual = SPACING_S[network.ticker] ?? SPACING_S['BTC']!;
  if (!(age > usual * OLD)) return null;
  const why =
    network.network === 'regtest'
      ? 'here a block comes only when somebody makes one'
      : 'the chain has had none since, or the node that is read does not get them';
  return html`The newest block is old: ${why}. The ledger has all that its decoder has read.`;
}
