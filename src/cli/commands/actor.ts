import { PlatformError } from '../../errors.ts';
import { order } from '../../service/life/probe.ts';
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
/** Words of operations, with the action of the route. A pause ends by a restart. */
const ACTIONS: Readonly<Record<string, 'restart' | 'pause'>> = {
  restart: 'restart',
  pause: 'pause',
  resume: 'restart'
};
const WORDS = ['list', ...Object.keys(ACTIONS)];

interface Place {
  readonly service: AskedService;
  readonly answer: ProbedActors;
}

/**
 * Command `platform-node actor list
 * restart NAME
 * pause NAME
 * resume NAME`. Exit codes: 0; 64 without a confirmation; 69 when no service answers; 77 when the key is refused.
 */
export const actorCommand = async (): Promise<Command> => ({
  name: 'actor',
  summary: 'shows the actors of running services; restarts, pauses and resumes one',
  variables: await placeVariables(),
  words: [
    {
      word: 'list',
      choices: WORDS,
      help: ['show every actor: its state, phase, restarts and why it is not well; the default']
    },
    { word: 'restart <name>', help: ['stop an actor, such as indexer/bitcoin/mainnet, and start it anew'] },
    { word: 'pause <name>', help: ['stop an actor until it is resumed, also over changes of its database'] },
    { word: 'resume <name>', help: ['start an actor that is paused, parked or failed; a running one is left alone'] }
  ],
  options: OPTIONS,

  async run(argv: readonly string[], env: Environment): Promise<number> {
    const { values, words } = readArguments(argv, OPTIONS);
    const [word = 'list', name, ...more] = words;
    if (!WORDS.includes(word) || (word === 'list') !== (name === undefined) || more.length > 0)
      throw new PlatformError('COMMAND_INVALID', {
        reason: `actor ${words.join(' ')}: list, or ${Object.keys(ACTIONS).join(', ')} with the name of an actor`
      });
    const found = await askEach(await findAsked(values, env), (service) => probeActors(service), warn);
    if (name === undefined) return showActors(found, values.json);
    const { service, actor } = findActor(found, name);
    const tell = (action: string, text: string) => {
      console.log(values.json ? JSON.stringify({ service: service.name, actor: name, action }) : text);
      return 0;
    };
    if (word === 'resume' && ['running', 'starting'].includes(actor.state))
      return tell('none', `${name} of ${service.name} is ${actor.state}: there is nothing to resume`);
    const reason = word === 'resume' ? (values.reason ?? '') : await confirmByName(`actor ${word}`, name, values);
    await order(service, `/debug/actors/${name}/${ACTIONS[word]}?reason=${encodeURIComponent(reason)}`);
    return tell(word, `${word}: ${name} of ${service.name}`);
  }
});

const warn = (line: string) => console.error(`platform-node actor: ${line}`);

function showActors(found: readonly Place[], json: boolean): number {
  const actors = found.flatMap(({ service, answer }) =>
    answer.actors.map((actor) => ({ service: service.name, ...actor }))
  );
  const lines = actors.map(({ service, name, state, doing, restarts, reason }) => [
    service,
    name,
    state,
    doing || '-',
    String(restarts ?? '-'),
    reason ?? '-'
  ]);
  const head = ['service', 'actor', 'state', 'doing', 'restarts', 'why'];
  console.log(json ? JSON.stringify(actors) : textTable([head, ...lines]));
  return 0;
}

/** @throws {PlatformError} COMMAND_INVALID unless exactly one service has the actor */
function findActor(
  found: readonly Place[],
  name: string
): { readonly service: AskedService; readonly actor: ProbedActor } {
  const places = found.flatMap(({ service, answer }) =>
    answer.actors.filter((actor) => actor.name === name).map((actor) => ({ service, actor }))
  );
  if (places.length === 1) return places[0]!;
  const names = places.map(({ service }) => service.name).join(', ');
  const why =
    places.length > 1 ? `is an actor of ${names}: name one with --service` : 'is no actor of a running service';
  throw new PlatformError('COMMAND_INVALID', { reason: `${name} ${why}; platform-node actor list shows all` });
}
