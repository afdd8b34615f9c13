import { h, setText } from '../dom.ts';
import { KeyNeeded, request } from '../live.ts';

/** Letters of an answer that are shown. */
const MOST_SHOWN = 20_000;

/** A parameter of an operation and the field for its value. */
interface Field {
  readonly name: string;
  /** `path`, `query`, or `param` of a method. */
  readonly place: string;
  readonly input: HTMLInputElement;
}

/** A request as the samples show it and the form sends it. */
interface Asked {
  readonly path: string;
  readonly body: string | null;
}

/** Adds samples to an operation, and to one that only reads a form that sends its request. */
export function addRequest(operation: HTMLDetailsElement): void {
  const { path, rpc, method = '' } = operation.dataset;
  if (path === undefined && rpc === undefined) return;
  const fields = [...operation.querySelectorAll<HTMLElement>('tr[data-in]')].map(fieldOf);
  const [curl, script] = [h('pre', { tabindex: '0' }), h('pre', { tabindex: '0' })];
  const asked = () => (rpc === undefined ? pathOf(path!, fields) : callOf(rpc, fields));
  const isRead = method === 'get' || method === 'read';
  const needsKey = 'key' in operation.dataset;
  const show = () => {
    setText(curl, curlOf(asked(), needsKey, method));
    setText(script, scriptOf(asked(), needsKey, method));
  };
  const answer = h('pre', { role: 'status', tabindex: '0', hidden: true });
  const submit = (event: Event) => {
    event.preventDefault();
    void send(asked(), answer);
  };
  operation.append(
    h('h3', {}, isRead ? 'Send it' : 'Fill in the samples'),
    h('form', { submit, input: show }, ...fields.map(({ name, input }) => h('label', {}, `${name} `, input))),
    answer,
    h('h3', {}, 'curl'),
    curl,
    h('h3', {}, 'TypeScript'),
    script
  );
  if (isRead) operation.querySelector('form')!.append(h('button', {}, 'Send'));
  show();
}

function fieldOf(row: HTMLElement): Field {
  return {
    name: row.querySelector('code')!.textContent,
    place: row.dataset['in']!,
    input: h('input', { autocomplete: 'off' })
  };
}

function pathOf(pattern: string, fields: readonly Field[]): Asked {
  const path = pattern.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = fields.find((field) => field.name === name)?.input.value;
    return value ? encodeURIComponent(value) : whole;
  });
  const given = fields.filter(({ place, input }) => place === 'query' && input.value !== '');
  const query = new URLSearchParams(given.map(({ name, input }) => [name, input.value]));
  return { path: given.length === 0 ? path : `${path}?${query}`, body: null };
}

/** Returns a value as the call has it: as such if it is JSON, else as text. */
function callOf(method: string, fields: readonly Field[]): Asked {
  const given = fields.filter(({ input }) => input.value !== '');
  const params = Object.fromEntries(given.map(({ name, input }) => [name, jsonOrText(input.value)]));
  return { path: '/', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function curlOf({ path, body }: Asked, needsKey: boolean, method: string): string {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const verb = body === null && method !== 'get' ? ` -X ${method.toUpperCase()}` : '';
  const key = needsKey ? ' -H "authorization: Bearer $KEY"' : '';
  const sent = body === null ? '' : ` -H 'content-type: application/json' \\\n  -d ${quote(body)}`;
  return `curl${verb} ${quote(location.origin + path)}${key}${sent}`;
}

function scriptOf({ path, body }: Asked, needsKey: boolean, method: string): string {
  const options = [
    ...(body !== null || method !== 'get' ? [`method: '${body === null ? method.toUpperCase() : 'POST'}'`] : []),
    ...(needsKey ? [`headers: { authorization: \`Bearer \${process.env.KEY}\` }`] : []),
    ...(body === null ? [] : ["headers: { 'content-type': 'application/json' }", `body: ${JSON.stringify(body)}`])
  ];
  const given = options.length === 0 ? '' : `, {\n  ${options.join(',\n  ')}\n}`;
  return `const answer = await fetch(${JSON.stringify(location.origin + path)}${given});\nconsole.log(answer.status, await answer.json());`;
}

async function send({ path, body }: Asked, shown: HTMLElement): Promise<void> {
  shown.hidden = false;
  setText(shown, '…');
  setText(shown, (await answerOf(path, body)).slice(0, MOST_SHOWN));
}

async function answerOf(path: string, body: string | null): Promise<string> {
  try {
    const answer = await request(path, body === null ? 'GET' : 'POST', body ?? undefined);
    const text = await answer.text();
    return `${answer.status} ${answer.statusText}\n${isJson(answer) ? JSON.stringify(JSON.parse(text), null, 2) : text}`;
  } catch (fault) {
    return fault instanceof KeyNeeded ? '401: give the key above' : `no answer: ${(fault as Error).message}`;
  }
}

const isJson = ({ headers }: Response): boolean => headers.get('content-type')?.includes('json') === true;
