import { SERVICE_COMMANDS } from '../services.ts';
import type { Command, OptionRow, OptionTable } from './command.ts';

const OF_VARIABLES: OptionTable = {
  config: {
    type: 'string',
    value: '<file>',
    help: [
      'read variables from this file instead of config.json;',
      'one that does not end in .json has lines NAME=value'
    ]
  },
  'check-config': { type: 'boolean', help: ['print the effective values, secrets masked, and end'] }
};

const OF_SERVICES: OptionTable = {
  'no-guardian': { type: 'boolean', help: ['run without the process that restarts the service'] },
  'no-telemetry': { type: 'boolean', help: ['send no usage pings, from now on'] }
};

const OF_ALL: OptionTable = { help: { type: 'boolean', help: ['print this text'] } };

/** Returns all options of a command: its own, and those that the command line itself takes. */
export function optionsOf({ name, variables, options = {} }: Command): OptionTable {
  return {
    ...options,
    ...(variables && OF_VARIABLES),
    ...(SERVICE_COMMANDS.includes(name) && OF_SERVICES),
    ...OF_ALL
  };
}

/** Returns an option as it is written: `--config <file>`. */
export function spell(option: string, { value }: OptionRow): string {
  return `--${[option, value].filter(Boolean).join(' ')}`;
}
