import { MAX_COMMANDS, parseCommand, splitBatch } from '../../coin/action/command.ts';
import { ACTIONS, findAlias } from '../../coin/action/names.ts';
import { gasOf } from '../../coin/gas.ts';
import { paysInGas } from '../fees/charge.ts';
import { gasPlaces } from '../fees/gas-places.ts';
import { feeOf } from '../profile/gas.ts';
import { type Check, defineAction, type Step } from '../rules/action-definition.ts';
import { isBlockFull, sourceSleeps } from '../rules/checks.ts';
import { tickKey } from '../state/keys.ts';

interface Batch {
  readonly commands: readonly string[];
  /** Names as they are written, in their case. Where the profile says so, an alias is replaced by its action. */
  readonly names: readonly string[];
}

/** Greatest weight of all commands together. Most commands weigh 1. */
const MAX_WEIGHT = MAX_COMMANDS;
const WEIGHTS: Readonly<Record<string, number>> = { AIRDROP: 25, DIVIDEND: 25, DEPLOY: 30, EXECUTE: 30, XEXEC: 30 };
const ASSEMBLED_DEPLOY = 4;

function read(step: Step): Batch[] {
  const commands = splitBatch(step.action.fields);
  // Those that the limits and the least gas of a command depend on.
  const parsed = commands.map(parseCommand).filter(({ name }) => name === 'MINT' || name === 'ISSUE');
  step.ledger.requestTokens(parsed.map(({ fields }) => fields[0] ?? ''));
  return [{ commands, names: commands.map((command) => nameOf(command, step)) }];
}

function nameOf(command: string, { action, rules }: Step): string {
  const written = command.split('|')[0]!.trim();
  return (rules.isActive('BATCH_ALIASES', action.block.height) && findAlias(written)) || written;
}

function weightOf(command: string): number {
  const { name, format } = parseCommand(command);
  return name === 'DEPLOY' && format === ASSEMBLED_DEPLOY ? 1 : (WEIGHTS[name] ?? 1);
}

function isTooHeavy({ commands }: Batch): boolean {
  return commands.length > MAX_COMMANDS || commands.reduce((sum, command) => sum + weightOf(command), 0) > MAX_WEIGHT;
}

/** Returns how often a command of a limited kind appears. Each MINT counts for its token. */
function countsOf({ commands, names }: Batch, name: string, { ledger }: Step): number {
  const counts = new Map<string, number>();
  for (const [place, command] of commands.entries()) {
    if (names[place] !== name) continue;
    const tick = parseCommand(command).fields[0] ?? '';
    if (name === 'ISSUE' && tick.includes('.') && !tick.startsWith('^')) continue;
    const key = name === 'MINT' ? String(ledger.token(tick)?.id ?? '') : '';
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts.values().reduce((most, count) => Math.max(most, count), 0);
}

const LIMITS: Readonly<Record<string, number>> = { BATCH: 0, MINT: 1, ISSUE: 1, DEPLOY: 1, FILE: 1 };

/** Checks of the limited kinds of commands, one status each. */
const limitChecks: readonly Check<Batch>[] = Object.keys(LIMITS).map((name) => [
  `${name} (limit)`,
  (batch, step) => {
    const excess = [...new Set(batch.names)].find(
      (named) => LIMITS[named] !== undefined && countsOf(batch, named, step) > LIMITS[named]
    );
    return excess === name;
  }
]);

/** Returns the least gas that a command costs; 0 where that depends on the ledger, and for free commands. */
function leastGas(command: string, { ledger, rules }: Step): number {
  const { name, fields } = parseCommand(command);
  if (name === 'SWEEP' || name === 'CALLBACK') return gasOf(rules.fees, name, { items: 0, recipients: 0 });
  const tick = fields[0] ?? '';
  const isNew = name === 'ISSUE' && ledger.token(tick) === null && tickKey(tick) !== tickKey(rules.gasTick);
  return isNew ? gasOf(rules.fees, name, { subtoken: tick.includes('.') }) : 0;
}

/** Returns whether every command costs something, and the source cannot pay the cheapest. */
function isTooPoor({ commands }: Batch, step: Step): boolean {
  const { action, ledger, rules } = step;
  if (!paysInGas(step)) return false;
  const cheapest = commands.reduce((least, command) => {
    return least === 0 ? 0 : Math.min(least, leastGas(command, step));
  }, Number.POSITIVE_INFINITY);
  if (cheapest === 0) return false;
  const token = ledger.token(rules.gasTick);
  return (token ? ledger.balance(token.tick, action.source) : 0n) < feeOf(cheapest, rules.fees, gasPlaces(step));
}

/** Runs several commands, each as an action with a status of its own. */
export const BATCH = defineAction<Batch>({
  name: 'BATCH',
  table: 'batches',
  formats: { 0: 'COMMAND(;COMMAND)+' },
  read,
  checks: [
    ['COMMAND (unknown)', ({ commands }) => commands.length === 0],
    ['COMMAND (limit)', isTooHeavy],
    ['COMMAND (block limit)', (_, step) => isBlockFull(step)],
    ['ACTION (unknown)', ({ names }) => names.some((name) => !ACTIONS.has(name))],
    ...limitChecks,
    sourceSleeps,
    ['GAS (insufficient)', isTooPoor]
  ],
  row: () => ({}),
  apply: ({ commands }, { ledger }) => {
    for (const command of commands) ledger.commands.push(command);
  }
});
