import type { OpenRpc } from '../rpc/openrpc.ts';
import type { OpenApi, Operation } from '../schema/openapi.ts';
import { escapeHtml, makePage, type Page } from './page.ts';
import { schemaText } from './schema-text.ts';

/**
 * The documents of `/openapi.json` and `/openrpc.json` as a page for people; no script, and nothing from elsewhere.
 *
 * @param methods undefined for a service without JSON-RPC
 */
export function docsPage({ info, tags, paths, components }: OpenApi, methods?: OpenRpc['methods']): Page {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  const parts = tags
    .map(({ name }) => ({ name, list: operations.filter(({ operation }) => operation.tags.includes(name)) }))
    .filter(({ list }) => list.length > 0);
  const messages = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details><summary><code>${escapeHtml(name)}</code></summary>${code(schemaText(schema))}</details>`
  );
  const more = { ...(methods ? { Methods: methods.map(methodHtml) } : {}), Messages: messages };
  const links = [...parts.map(({ name }) => name), ...Object.keys(more)].map(
    (name) => `<a href="#${anchor(name)}">${escapeHtml(name)}</a>`
  );
  const sections = parts.map(
    ({ name, list }) =>
      `${heading(name)}${list.map(({ path, method, operation }) => operationHtml(path, method, operation)).join('')}`
  );
  return makePage(
    `${info.title} ${info.version}`,
    `<h1>${escapeHtml(info.title)}</h1><p>Version ${escapeHtml(info.version)}. The same for programs: <a href="/openapi.json">openapi.json</a>${methods ? ', <a href="/openrpc.json">openrpc.json</a>' : ''}</p>
${paragraphs(info.description)}<nav>${links.join('')}</nav>${sections.join('')}${Object.entries(more)
      .map(([name, list]) => heading(name) + list.join(''))
      .join('')}`
  );
}

function methodHtml({ name, summary, params, result, tags, errors }: OpenRpc['methods'][number]): string {
  const rows = params.map(
    ({ name: param, required, schema }) =>
      `<tr><td><code>${escapeHtml(param)}</code></td><td>${required ? '' : 'optional'}</td><td>${escapeHtml(schemaText(schema))}</td></tr>`
  );
  const faults = errors.map(
    ({ code: number, message }) => `<tr><td>${number}</td><td>${escapeHtml(message)}</td></tr>`
  );
  return `<details><summary><span class="method">${tags.map((tag) => escapeHtml(tag.name)).join()}</span> <code>${escapeHtml(name)}</code> <span>${escapeHtml(summary)}</span></summary>
${rows.length === 0 ? '' : `<h3>Parameters</h3><table>${rows.join('')}</table>`}
<h3>Result</h3>${code(schemaText(result.schema))}
<h3>Errors</h3><table>${faults.join('')}</table></details>`;
}

function operationHtml(path: string, method: string, operation: Operation): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const parameterRows = parameters.map(({ name, in: place, required, description: text, schema }) => {
    const type = schemaText(schema);
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${place}${required ? '' : ', optional'}</td><td>${escapeHtml(text ?? type)}</td></tr>`;
  });
  const answerRows = Object.entries(responses).map(([status, { description: text, headers = {} }]) => {
    const named = Object.entries(headers).map(
      ([name, header]) => `<br><code>${name}</code>: ${escapeHtml(header.description)}`
    );
    return `<tr><td>${status}</td><td>${escapeHtml(text)}${named.join('')}</td></tr>`;
  });
  const body = requestBody?.content['application/json']?.schema;
  const answer = responses['200']?.content?.['application/json']?.schema;
  return `<details><summary><span class="method">${method.toUpperCase()}</span> <code>${escapeHtml(path)}</code> <span>${escapeHtml(summary)}</span></summary>
${description === undefined ? '' : paragraphs(description)}
${parameterRows.length === 0 ? '' : `<h3>Parameters</h3><table>${parameterRows.join('')}</table>`}
${body === undefined ? '' : `<h3>Body</h3>${code(schemaText(body))}`}
${answer === undefined ? '' : `<h3>Answer</h3>${code(schemaText(answer))}`}
<h3>Statuses</h3><table>${answerRows.join('')}</table></details>`;
}

const anchor = (name: string): string => name.toLowerCase().replaceAll(' ', '-');
const heading = (name: string): string => `<h2 id="${anchor(name)}">${escapeHtml(name)}</h2>`;
const code = (text: string): string => `<pre>${escapeHtml(text)}</pre>`;

/** Blank lines part paragraphs; what is in backticks is code. */
function paragraphs(text: string): string {
  return text
    .split('\n\n')
    .map((each) => `<p>${escapeHtml(each).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .join('');
}
