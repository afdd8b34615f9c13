import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHAIN_NETWORKS, type ChainNetwork } from '../../src/coin/chains.ts';
import { ROOT } from '../root.ts';

/** Path of the document. */
export const NETWORKS_FILE = join(ROOT, 'docs', 'operating', 'networks.md');

const byte = (version: number) => `0x${version.toString(16).padStart(2, '0')}`;
const orNone = (value: string | number | null) => (value === null ? 'none' : String(value));

const COLUMNS: Readonly<Record<string, (known: ChainNetwork) => string>> = {
  name: ({ name }) => `\`${name}\``,
  code: ({ code }) => `\`${code}\``,
  'RPC port': ({ rpcPort }) => String(rpcPort),
  'first block': ({ startBlock }) => String(startBlock),
  'segwit from': ({ segwitHeight }) => orNone(segwitHeight),
  'taproot from': ({ taprootHeight }) => orNone(taprootHeight),
  bech32: ({ addresses }) => orNone(addresses.bech32),
  P2PKH: ({ addresses }) => byte(addresses.p2pkh),
  'P2SH (also accepted)': ({ addresses: { p2sh, p2shAccepted } }) => {
    const older = p2shAccepted.filter((version) => version !== p2sh).map(byte);
    return older.length > 0 ? `${byte(p2sh)} (${older.join(', ')})` : byte(p2sh);
  },
  WIF: ({ addresses }) => byte(addresses.wif),
  confirmations: ({ confirmations }) => String(confirmations),
  'stake counts after': ({ activationDelayBlocks }) => `${activationDelayBlocks} blocks`,
  'dust, per 1000 vbytes': ({ dustRelayRate, dustFloor }) =>
    dustFloor > 0 ? `${dustFloor} at least` : String(dustRelayRate),
  'costs more below': ({ softDust }) => (softDust > 0 ? String(softDust) : 'none'),
  'miners take, per 1000 vbytes': ({ leastMinedRate }) => String(leastMinedRate),
  'a reward is spent after': ({ coinbaseMaturity }) => `${coinbaseMaturity} blocks`,
  'undo depth': ({ undoDepth }) => String(undoDepth)
};

/** Returns the document with its table, between two marks, made from the registry. */
export function renderNetworks(document = readFileSync(NETWORKS_FILE, 'utf8')): string {
  const names = Object.keys(COLUMNS);
  const rows = CHAIN_NETWORKS.map((known) => Object.values(COLUMNS).map((cell) => cell(known)));
  const lines = [names, names.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const table = `<!-- networks -->\n\n${lines.join('\n')}\n\n<!-- end -->`;
  return document.replace(/<!-- networks -->[\s\S]*?<!-- end -->/, () => table);
}

if (import.meta.main) writeFileSync(NETWORKS_FILE, renderNetworks());
