import { addressFields } from '../../coin/action/address-fields.ts';
import { commandsIn } from '../../coin/action/command.ts';
import type { ChainNetwork } from '../../coin/chains.ts';
import { canonicalAddress, isAddress } from '../../coin/script/address.ts';
import { PlatformError } from '../../errors.ts';
import type { CreateRequest } from './request.ts';

/** Rule by which ledgers know one address by all its spellings. */
interface SpellingRule {
  readonly network: ChainNetwork;
  /** First block in which the rule CANONICAL_ADDRESSES counts; Infinity for never. */
  readonly from: number;
  /** Height of the next block. */
  readonly nextHeight: number;
}

/**
 * Refuses what a ledger would book under an address that nobody can act or be paid as. Below the height of
 * CANONICAL_ADDRESSES an address counts as it is written, and decoders write each script in its usual spelling.
 *
 * @throws {PlatformError} REQUEST_INVALID; its reason names the address, the consequence and the remedy
 */
export function refuseOldSpellings(
  { data = '', customOutputs = [] }: Pick<CreateRequest, 'data' | 'customOutputs'>,
  { network: { addresses }, from, nextHeight }: SpellingRule
): void {
  if (nextHeight >= from) return;
  const usualOf = (text: string) => (isAddress(text, addresses) ? (canonicalAddress(text, addresses) ?? NONE) : text);
  const until = Number.isFinite(from) ? `Below block ${from} (CANONICAL_ADDRESSES)` : 'Without CANONICAL_ADDRESSES';
  const commands = commandsIn(data);
  for (const command of commands) {
    for (const { name, text } of addressFields(command)) {
      const usual = usualOf(text);
      if (usual === text) continue;
      const reason =
        usual === NONE
          ? 'Nobody can spend from its segwit version, so what it gets is lost: name another address'
          : `${until} a ledger keeps what ${text} gets apart from ${usual}, where nobody can act: write ${usual}`;
      throw invalid(`${name} of ${command.name} is ${text}. ${reason}`);
    }
  }
  if (data !== '' && !commands.some(({ name }) => name === 'COINPAY')) return;
  for (const { address } of customOutputs) {
    const usual = usualOf(address);
    if (usual === address || usual === NONE) continue; // what has no script is refused with the outputs
    const remedy = `have its seller cancel it and offer at ${usual}${Number.isFinite(from) ? `, or wait for block ${from}` : ''}`;
    throw invalid(
      `customOutputs pays ${address}. ${until} a ledger reads that as a payment to ${usual}: a match or dispenser at ${address} gives nothing for it, and the coins are gone. Do not pay such an offer: ${remedy}. To pay an offer at ${usual}, write ${usual}`
    );
  }
}

/** Spelling of an address that no script stands for. */
const NONE = '';
const invalid = (reason: string) => new PlatformError('REQUEST_INVALID', { reason });
