import { count, duration, h, setText } from '../dom.ts';
import { KeyNeeded, request, setKey } from '../live.ts';
import { conditionOf, type MinerHealth } from './words.ts';

const EVERY_MS = 2_000;
const element = (id: string) => document.getElementById(id)!;
const values = new Map<string, HTMLElement>();

/** Calls a method and returns its result. @throws {Error} with the miner's reason */
async function call(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  const answer = await request('/', 'POST', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })).catch(
    (fault) => {
      throw fault instanceof KeyNeeded ? new Error('the miner asks for its key, which is given below') : fault;
    }
  );
  const { result, error } = (await answer.json()) as {
    result?: unknown;
    error?: { message: string; data?: { reason?: string } };
  };
  if (error) throw new Error([error.message, error.data?.reason].filter(Boolean).join(': '));
  return result;
}

function show(kind: string, ...parts: (Node | string)[]): void {
  element('answer').className = kind;
  element('answer').replaceChildren(...parts);
}

/** Runs what a form asks for, and tells how it went. */
function onSubmit(id: string, run: (given: Readonly<Record<string, string>>) => Promise<(Node | string)[]>): void {
  element(id).addEventListener('submit', (event) => {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target as HTMLFormElement)) as Record<string, string>;
    show('quiet', '…');
    run(given).then(
      (parts) => show('good', ...parts),
      (fault: Error) => show('bad', fault.message)
    );
    void look();
  });
}

async function look(): Promise<void> {
  const condition = element('condition');
  try {
    const health = (await call('health')) as MinerHealth;
    const { kind, text } = conditionOf(health);
    condition.className = kind;
    setText(condition, text);
    const lastAt = health.last_mine_at === null ? null : Date.parse(health.last_mine_at);
    tell('Payments that wait', count(health.mempool_size));
    tell('Blocks since the start', count(health.blocks_mined));
    tell('Last block', lastAt === null ? 'none yet' : `${duration(Date.now() - lastAt)} ago`);
  } catch (fault) {
    condition.className = 'bad';
    setText(condition, `The miner does not answer: ${(fault as Error).message}`);
  }
}

function tell(name: string, text: string): void {
  const value = values.get(name) ?? h('dd');
  if (!values.has(name)) element('facts').append(h('dt', {}, name), value);
  values.set(name, value);
  setText(value, text);
}

onSubmit('send', async ({ address = '', amount = '' }) => {
  const hash = (await call('send_funds', { address, amount })) as string;
  return [`${amount} sent to ${address} by transaction `, h('code', {}, hash), '; it waits for the next block.'];
});
onSubmit('mine', async ({ count: asked = '' }) => {
  const { hashes } = (await call('generate_blocks', { count: Number(asked) })) as { hashes: readonly string[] };
  return [`${count(hashes.length)} mined; the last block is `, h('code', {}, hashes.at(-1) ?? ''), '.'];
});
onSubmit('key', async ({ key = '' }) => {
  setKey(key);
  return ['The key is kept until this tab is closed.'];
});
setInterval(() => {
  if (!document.hidden) void look();
}, EVERY_MS);
void look();
