import type { OpenRpc } from '../rpc/openrpc.ts';
import type { OpenApi, Operation } from '../schema/openapi.ts';
import { escapeHtml, makePage } from './page.ts';
import { schemaText } from './schema-text.ts';

/**
 * Returns the documents of `/openapi.json` and `/openrpc.json` as a page for people. Its script adds a filter, samples
 * and a form to send a request; all else is there without it.
 *
 * @param console path of the service's console
 * @param methods undefined for a service without JSON-RPC
 */
export function docsPage(
  { info, tags, paths, components }: OpenApi,
  console: string,
  methods?: OpenRpc['methods']
): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  const parts = tags
    .map(({ name }) => ({ name, list: operations.filter(({ operation }) => operation.tags.includes(name)) }))
    .filter(({ list }) => list.length > 0)
    .map(({ name, list }) => [
      name,
      list.map(({ path, method, operation }) => operationHtml(path, method, operation))
    ]) as [string, string[]][];
  const messages = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details class="op" id="message-${anchor(name)}"><summary><code>${escapeHtml(name)}</code></summary>${code(schemaText(schema))}</details>`
  );
  const all = [
    ...parts,
    ...(methods ? [['Methods', methods.map(methodHtml)] as const] : []),
    ['Messages', messages]
  ] as const;
  const links = all.map(([name]) => `<a href="#${anchor(name)}">${escapeHtml(name)}</a>`);
  const sections = all.map(
    ([name, list]) => `<section><h2 id="${anchor(name)}">${escapeHtml(name)}</h2>${list.join('')}</section>`
  );
  const keys = String(components.securitySchemes['bearer']?.['description'] ?? '');
  return makePage({
    title: info.title,
    note: info.version,
    links: [
      [console, 'Console'],
      ['/openapi.json', 'OpenAPI'],
      ...(methods ? [['/openrpc.json', 'OpenRPC'] as const] : [])
    ],
    script: 'docs.js',
    body: `${paragraphs(info.description)}
<p id="keys">What is marked <span class="key">key</span> needs one, as <code>Authorization: Bearer KEY</code> or
<code>X-API-Key: KEY</code>. Set by the operator: ${escapeHtml(keys)}.</p>
<nav class="parts" aria-label="Parts">${links.join('')}</nav>${sections.join('')}`
  });
}

function methodHtml({ name, summary, params, result, tags, errors }: OpenRpc['methods'][number]): string {
  const rows = params.map(({ name: param, required, schema }) => {
    const type = escapeHtml(schemaText(schema));
    return `<tr data-in="param"><th scope="row"><code>${escapeHtml(param)}</code></th><td>${required ? '' : 'optional'}</td><td>${type}</td></tr>`;
  });
  const faults = errors.map(({ code: number, message }) => row(String(number), message));
  const kind = tags.map((tag) => escapeHtml(tag.name)).join();
  return `<details class="op" id="method-${anchor(name)}" data-rpc="${escapeHtml(name)}" data-method="${kind}">${summaryHtml(kind, name, summary)}
${rows.length === 0 ? '' : `<h3>Parameters</h3><table>${rows.join('')}</table>`}
<h3>Result</h3>${code(schemaText(result.schema))}
<h3>Errors</h3><table>${faults.join('')}</table></details>`;
}

function operationHtml(path: string, method: string, operation: Operation): string {
  const { summary, description, parameters = [], requestBody, responses, security } = operation;
  const parameterRows = parameters.map(({ name, in: place, required, description: text, schema }) => {
    const type = schemaText(schema);
    return `<tr data-in="${place}"><th scope="row"><code>${escapeHtml(name)}</code></th><td>${place}${required ? '' : ', optional'}</td><td>${escapeHtml(text ?? type)}</td></tr>`;
  });
  const answerRows = Object.entries(responses).map(([status, { description: text, headers = {} }]) => {
    const named = Object.entries(headers).map(
      ([name, header]) => `<br><code>${name}</code>: ${escapeHtml(header.description)}`
    );
    return row(status, text, named.join(''));
  });
  const body = requestBody?.content['application/json']?.schema;
  const answer = responses['200']?.content?.['application/json']?.schema;
  return `<details class="op" id="${method}-${anchor(path)}" data-path="${escapeHtml(path)}" data-method="${method}"${security ? '' : ' data-key'}>${summaryHtml(method.toUpperCase(), path, summary, security === undefined)}
${description === undefined ? '' : paragraphs(description)}
${parameterRows.length === 0 ? '' : `<h3>Parameters</h3><table>${parameterRows.join('')}</table>`}
${body === undefined ? '' : `<h3>Body</h3>${code(schemaText(body))}`}
${answer === undefined ? '' : `<h3>Answer</h3>${code(schemaText(answer))}`}
<h3>Statuses</h3><table>${answerRows.join('')}</table></details>`;
}

/** Returns the line that opens a part; the texts are not escaped yet. */
function summaryHtml(kind: string, name: string, summary: string, needsKey = false): string {
  const key = needsKey ? '<span class="key">key</span>' : '';
  return `<summary><span class="method">${kind}</span> <code>${escapeHtml(name)}</code> <span>${escapeHtml(summary)}</span>${key}</summary>`;
}

/** @param more HTML after the text */
function row(head: string, text: string, more = ''): string {
  return `<tr><th scope="row">${escapeHtml(head)}</th><td>${escapeHtml(text)}${more}</td></tr>`;
}

/** Returns the id of a part, which an address may hold as it is. */
const anchor = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[{:]/g, '_')
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-|-$/g, '');
/** Returns a schema as HTML; the keyboard scrolls one that is wider than the page. */
const code = (text: string): string => `<pre tabindex="0">${escapeHtml(text)}</pre>`;

/** Splits text at blank lines into paragraphs; words in backticks become code. */
function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((each) => `<p>${escapeHtml(each).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('');
}
