/** All actions that a transaction may carry. */
export const ACTIONS: ReadonlySet<string> = new Set(
  [
    'ADDRESS AIRDROP ANCHOR ATTEST BATCH BET BROADCAST CALLBACK COINPAY COLLECT DELEGATE DEPLOY DEPOSIT DESTROY DISPENSER',
    'DIVIDEND EXECUTE FILE ISSUE LINK LIST MESSAGE MINT NODEPROOF ORDER PRICE SEND SLASH SLEEP STAKE SWAP SWEEP UNSTAKE',
    'ROLLCALL VOTE WITHDRAW XBRIDGE XCALL'
  ].flatMap((line) => line.split(' '))
);

const ALIASES: Readonly<Record<string, string>> = {
  TRANSFER: 'SEND',
  ADDR: 'ADDRESS',
  DROP: 'AIRDROP',
  CAST: 'BROADCAST',
  MSG: 'MESSAGE'
};

/** Returns the action of an alias in capitals; undefined for any other text. */
export function findAlias(written: string): string | undefined {
  return Object.hasOwn(ALIASES, written) ? ALIASES[written] : undefined;
}

/**
 * Returns the full name of the action at the start of a text, and its spelling there; undefined when it is no action.
 */
export function readName(text: string): { readonly name: string; readonly written: string } | undefined {
  const [written = ''] = text.split('|', 1);
  const name = findAction(written);
  return name === undefined ? undefined : { name, written };
}

/**
 * Returns the full name of an action in any case, with spaces around it, or by an alias; undefined when it is no
 * action.
 */
export function findAction(written: string): string | undefined {
  const capitals = written.trim().toUpperCase();
  const name = findAlias(capitals) ?? capitals;
  return ACTIONS.has(name) ? name : undefined;
}
