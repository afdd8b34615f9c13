import { PlatformError } from '../../errors.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { readArguments } from '../options.ts';
import { findService, placeVariables } from '../service-address.ts';
import { askAll, askEvidence, evidenceText, type HubPlace, isWell, peersText, statusText } from './federation/ask.ts';
import { initMember } from './federation/init.ts';
import { exportToFile, exportVariables, verifyFiles } from './federation/log-files.ts';

const OPTIONS = {
  addr: {
    type: 'string',
    value: '<address>',
    help: ['init: address at which the others reach this hub, such as wss://hub1.example:10001']
  },
  file: {
    type: 'string',
    value: '<file>',
    default: 'federation.json',
    help: ['init: file of the set; default federation.json']
  },
  seed: { type: 'string', value: '<file>', default: 'hub.seed', help: ['init: file of the key; default hub.seed'] },
  quorum: {
    type: 'string',
    value: '<rule>',
    choices: ['byzantine', 'specified'],
    default: 'byzantine',
    help: ['init: quorum of a new set: byzantine, the default, or specified']
  },
  hub: {
    type: 'string',
    value: '<url>',
    multiple: true,
    help: ['a hub to ask, several times for several; default: that of this machine']
  },
  json: { type: 'boolean', default: false, help: ['print JSON'] }
} as const satisfies OptionTable;

type Options = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

/** Command `platform-node federation`: makes a set of hubs, and looks at one. */
export const federationCommand = async (): Promise<Command> => ({
  name: 'federation',
  summary: 'makes a set of hubs in validator mode, shows how it is, and checks its logs',
  variables: { ...(await placeVariables()), ...exportVariables },
  words: [
    {
      word: 'init',
      choices: ['init', 'status', 'peers', 'evidence', 'export', 'verify'],
      help: ['make a key where there is none, and add this hub to the file of its set']
    },
    { word: 'status', help: ['one line for each hub: what it does, how far it is, how many it is connected to'] },
    { word: 'peers', help: ['which hubs are connected to which'] },
    { word: 'evidence', help: ['hubs that signed two messages for one place, with both'] },
    {
      word: 'export <file>',
      help: ['write the log of the hub of this machine, with its certificates; it holds passwords']
    },
    {
      word: 'verify <file>...',
      help: ['check exported logs without a network, and compare them; exit code 1 where one is wrong']
    }
  ],
  options: OPTIONS,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { values, words } = readArguments(argv, OPTIONS);
    const [word = '', ...paths] = words;
    if (paths.length > 0 && word !== 'export' && word !== 'verify')
      throw new PlatformError('COMMAND_INVALID', { reason: `federation ${word} takes no ${paths[0]}` });
    switch (word) {
      case 'init':
        return init(values);
      case 'status':
      case 'peers':
      case 'evidence':
        return await look(word, values, env);
      case 'export': {
        const [path, ...more] = paths;
        if (path === undefined || more.length > 0)
          throw new PlatformError('COMMAND_INVALID', { reason: 'federation export: name one file' });
        await exportToFile(path, env);
        return 0;
      }
      case 'verify': {
        if (paths.length === 0)
          throw new PlatformError('COMMAND_INVALID', { reason: 'federation verify: name one or more exported files' });
        const { text, isWell } = await verifyFiles(paths);
        console.log(text);
        return isWell ? 0 : 1;
      }
      default:
        throw new PlatformError('COMMAND_INVALID', {
          reason: `federation ${word}: init, status, peers, evidence, export or verify`
        });
    }
  }
});

function init({ addr, file, seed, quorum }: Options): number {
  if (addr === undefined || (quorum !== 'byzantine' && quorum !== 'specified'))
    throw new PlatformError('COMMAND_INVALID', {
      reason: 'federation init needs --addr, and a --quorum of byzantine or specified'
    });
  console.log(initMember({ addr, file, seed, quorum }));
  return 0;
}

/** Shows what hubs say. @returns the exit code: 69 where none answers */
async function look(word: 'status' | 'peers' | 'evidence', { hub, json }: Options, env: Environment): Promise<number> {
  const own = await findService('hub', env);
  const places: readonly HubPlace[] = hub ? hub.map((url) => ({ url, apiKey: own.apiKey })) : [own];
  if (word === 'evidence') {
    const found = await askEvidence(places);
    console.log(json ? JSON.stringify(found) : evidenceText(found));
    return found.every(({ evidence }) => evidence === null) ? EXIT.unavailable : 0;
  }
  const words = await askAll(places);
  console.log(json ? JSON.stringify(words) : word === 'peers' ? peersText(words) : statusText(words));
  if (words.every(({ answer }) => answer === null)) return EXIT.unavailable;
  return isWell(words) ? 0 : 1;
}
