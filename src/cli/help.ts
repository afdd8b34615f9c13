import { helpTable } from '../config/describe.ts';
import { SERVICE_COMMANDS } from '../services.ts';
import type { Command } from './command.ts';
import { listCommands } from './commands.ts';

/** Returns the text of `platform-node --help`. */
export async function overallHelp(): Promise<string> {
  const commands = await listCommands();
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    'platform-node: exact, provable replicas of per-chain MariaDB databases',
    '',
    'Usage: platform-node <command> [options]',
    '',
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'platform-node <command> --help lists its variables with their defaults.',
    'platform-node <command> --check-config prints each effective value and its origin.',
    'platform-node --version prints the version, --licences the licences of all its parts.',
    '',
    'Exit codes: 0 done; 1 failed; 64 usage, 65 data, 69 unavailable, 70 software, 71 system, 73 cannot create, 74 I/O, 77 permission,',
    '78 configuration: from 64 to 78 another start does not help.'
  ].join('\n');
}

/** Returns the text of `platform-node <command> --help`. */
export function commandHelp({ name, summary, variables, options = [] }: Command): string {
  const lines = [
    ...options,
    ...(variables
      ? [
          '--config <file> read variables from this file instead of config.json; one that does not end in .json has lines NAME=value',
          '--check-config  print the effective values, secrets masked, and end'
        ]
      : []),
    ...(SERVICE_COMMANDS.includes(name)
      ? [
          '--no-guardian   run without the process that restarts the service',
          '--no-telemetry  send no usage pings, from now on'
        ]
      : [])
  ];
  return [
    `platform-node ${name}: ${summary}`,
    '',
    `Usage: platform-node ${name}${lines.length > 0 ? ' [options]' : ''}`,
    ...(lines.length > 0 ? ['', ...lines.map((line) => `  ${line}`)] : []),
    ...(variables
      ? [
          '',
          'Variables, from the environment, else from config.json in the working directory, else from the hub for those marked (hub: ...).',
          'A secret may stand in a file: NAME_FILE names it; without it the systemd credential NAME is read.',
          helpTable(variables)
        ]
      : [])
  ].join('\n');
}
