import { PlatformError } from '../../errors.ts';
import { object, order, textOf } from '../../service/life/probe.ts';
import { type ProbedActor, type ProbedActors, probeActors } from '../../service/life/probe-actors.ts';
import { ASKED_OPTIONS, type AskedService, askEach, findAsked } from '../asked-services.ts';
import type { Command, Environment, OptionTable } from '../command.ts';
import { readArguments } from '../options.ts';
import { placeVariables } from '../service-address.ts';
import { textTable } from '../table.ts';
import { CONFIRM_OPTIONS, confirmByName } from './confirm.ts';

const OPTIONS = {
  ...ASKED_OPTIONS,
  ...CONFIRM_OPTIONS,
  json: { type: 'boolean', default: false, help: ['print JSON'] }
} as const satisfies OptionTable;

interface Place {
  readonly service: AskedService;
  readonly answer: ProbedActors;
}

/**
 * Command `platform-node halt list
 * clear DATABASE`: shows what is halted, and ends the halt of a replica. Exit codes: 0; 64 without a confirmation; 69
 * when no service answers; 77 when the key is refused.
 */
export const haltCommand = async (): Promise<Command> => ({
  name: 'halt',
  summary: 'shows which databases are halted, and clears the halt of a replica',
  variables: await placeVariables(),
  words: [
    {
      word: 'list',
      choices: ['list', 'clear'],
      help: ['show each halt of the running services, with its remedy; the default']
    },
    {
      word: 'clear <database>',
      help: [
        'let a halted replica go on, such as indexer/bitcoin/mainnet; first compare it: platform-node verify.',
        'A halt of decoder, indexer or tracker ends with --clear-halt of that command'
      ]
    }
  ],
  options: OPTIONS,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { values, words } = readArguments(argv, OPTIONS);
    const [word = 'list', database, ...more] = words;
    if (!['list', 'clear'].includes(word) || (word === 'clear') !== (database !== undefined) || more.length > 0)
      throw new PlatformError('COMMAND_INVALID', { reason: `halt ${words.join(' ')}: list, or clear <database>` });
    const found = await askEach(await findAsked(values, env), (service) => probeActors(service), warn);
    if (database === undefined) return showHalts(found, values.json);
    const client = replicaOf(found, database);
    const reason = await confirmByName('halt clear', database, values);
    const answer = await order(client, `/halt/clear/${database}?reason=${encodeURIComponent(reason)}`);
    const was = textOf(object(answer['was'])['reason']);
    const text = was === null ? `there is no halt of ${database}` : `cleared: ${was} (${database})`;
    console.log(values.json ? JSON.stringify({ service: client.name, database, cleared: was }) : text);
    return 0;
  }
});

const warn = (line: string) => console.error(`platform-node halt: ${line}`);

function showHalts(found: readonly Place[], json: boolean): number {
  const halts = found.flatMap(({ service, answer }) =>
    answer.actors.filter(isHalted).map(({ name, reason }) => ({ service: service.name, database: name, reason }))
  );
  const lines = halts.map(({ service, database, reason }) => [service, database, reason ?? '-']);
  const text = halts.length === 0 ? 'nothing is halted' : textTable([['service', 'database', 'why'], ...lines]);
  console.log(json ? JSON.stringify(halts) : text);
  return 0;
}

const isHalted = ({ doing }: ProbedActor) => doing === 'halted';

/** Returns the sync client that holds the replica. @throws {PlatformError} COMMAND_INVALID */
function replicaOf(found: readonly Place[], database: string): AskedService {
  const holding = found.filter(({ answer }) => answer.actors.some(({ name }) => name === database));
  const clients = holding.filter(({ answer }) => answer.mode === 'client');
  if (clients.length === 1) return clients[0]!.service;
  const halted = holding.find(({ answer }) =>
    answer.actors.some((actor) => actor.name === database && isHalted(actor))
  );
  const why =
    clients.length > 1
      ? `several clients have a replica ${database}: name one with --service or --url`
      : halted
        ? `${halted.service.name} ends its halt itself: stop it, and run platform-node ${halted.service.name} --clear-halt`
        : `no running client has a replica ${database}`;
  throw new PlatformError('COMMAND_INVALID', { reason: why });
}
