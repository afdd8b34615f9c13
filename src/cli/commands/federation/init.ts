import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { readJsonFile } from '../../../config/json-file.ts';
import { type Federation, readFederation } from '../../../config/services/hub-validator.ts';
import { signingKey } from '../../../consensus/auth-signature.ts';
import { PlatformError } from '../../../errors.ts';

interface InitOptions {
  /** Address at which the others reach this hub. */
  readonly addr: string;
  /** File of the set, which is made or added to. */
  readonly file: string;
  /** File of the key's seed, which is made where it is missing. */
  readonly seed: string;
  /** Quorum of a new set. */
  readonly quorum: Federation['quorum'];
  /** Epoch milliseconds. */
  readonly now?: number;
}

const DAY_MS = 86_400_000;

/** Makes a key if there is none, and adds it to a set's file. @returns lines for the operator  @throws {PlatformError} COMMAND_INVALID */
export function initMember({ addr, file, seed, quorum, now = Date.now() }: InitOptions): string {
  const isNewKey = !existsSync(seed);
  const text = isNewKey ? randomBytes(32).toString('hex') : readFileSync(seed, 'utf8').trim();
  if (!/^[0-9a-f]{64}$/i.test(text)) refuse(`--seed ${seed} has no seed of 64 hexadecimal digits`);
  const { pubkey } = signingKey(text.toLowerCase());
  const before = existsSync(file) ? check(file, readSet(file)) : { members: [], quorum };
  const others = before.members.filter((member) => member.pubkey !== pubkey);
  const set = check(file, { ...before, members: [...others, { pubkey, addr }] });
  if (isNewKey) writeFileSync(seed, `${text}\n`, { flag: 'wx', mode: 0o600 });
  writeFileSync(file, `${JSON.stringify(set, null, 2)}\n`);
  return [
    `key ${pubkey}${isNewKey ? `, made; its seed is in ${seed}: nobody else may read it` : ''}`,
    ...(isReadable(seed) ? [`users of this machine beside its owner may read ${seed}: chmod 600 ${seed}`] : []),
    `${file} has ${set.members.length} members; it must be the same at all of them`,
    ...(set.quorum === quorum ? [] : [`its quorum is "${set.quorum}", and stays so: --quorum is for a new set`]),
    'settings of this hub:',
    `  P2P_VALIDATOR_ADDR=${addr}`,
    `  HUB_FEDERATION=${file}`,
    `  SIGNING_PRIVKEY_HEX=$(cat ${seed})`,
    `  ORACLE_EPOCH_START=${Math.floor(now / DAY_MS) * DAY_MS}, or what the other members have: it must be the same at all of them`
  ].join('\n');
}

/** Returns whether others than its owner may read a file. */
function isReadable(file: string): boolean {
  return (statSync(file).mode & 0o044) !== 0;
}

function readSet(file: string): unknown {
  try {
    return readJsonFile(file);
  } catch (caught) {
    return refuse(`--file ${file} ${(caught as Error).message}`);
  }
}

function check(file: string, set: unknown): Federation {
  try {
    return readFederation(set);
  } catch (caught) {
    return refuse(`--file ${file} ${(caught as Error).message}`);
  }
}

function refuse(reason: string): never {
  throw new PlatformError('COMMAND_INVALID', { reason });
}
