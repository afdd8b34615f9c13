import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { explorerVariables } from '../../src/config/services/explorer.ts';
import { createExplorerApp } from '../../src/explorer/app.ts';
import { ONE_NETWORK } from '../../src/explorer/routes/api.ts';
import { silentLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';
import { openServiceBase } from '../../src/service/life/base.ts';
import { NO_ACTORS } from '../../src/service/life/no-actors.ts';
import type { OpenApi, Operation, Parameter } from '../../src/service/schema/openapi.ts';
import { ROOT } from '../root.ts';
import { docComment, schemaType } from './schema-type.ts';

/** Path of the types of an explorer's requests and answers, which a release has for clients. */
const TYPES_FILE = join(ROOT, 'dist', 'explorer-api.ts');

/** Returns `/openapi.json` of an explorer without the paths that omit the network's code: they repeat the others. */
export async function explorerDocument(): Promise<OpenApi> {
  const { values: config } = loadConfig(explorerVariables, {
    env: { NETWORK: 'LTC' },
    unneeded: () => Object.keys(explorerVariables)
  });
  const base = await openServiceBase('explorer', config, createMetrics({ service: 'explorer', actors: () => [] }));
  const app = createExplorerApp({
    ...base,
    config,
    log: silentLogger,
    actors: NO_ACTORS,
    coins: () => [],
    hubAgeS: () => null
  });
  const { body } = await app.inject('/openapi.json');
  await app.close();
  await base.close();
  const document = JSON.parse(body) as OpenApi;
  const isOwn = (path: OpenApi['paths'][string]) => !Object.values(path).some(({ tags }) => tags.includes(ONE_NETWORK));
  const paths = Object.entries(document.paths).filter(([, path]) => isOwn(path));
  return { ...document, paths: Object.fromEntries(paths) };
}

/** Returns a module with the types `paths` and `components`, in the form that openapi-fetch reads. */
export function clientTypes({ paths, components }: OpenApi): string {
  const operations = Object.entries(paths).map(([path, methods]) => {
    const list = Object.entries(methods).map(([method, operation]) => operationType(method, operation));
    return `  ${JSON.stringify(path)}: {\n${list.join('')}  };\n`;
  });
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `    ${JSON.stringify(name)}: ${schemaType(schema, '    ')};\n`
  );
  return `// Made by \`npm run client\` from an explorer's /openapi.json.
export interface paths {
${operations.join('')}}
export interface components {
  schemas: {
${schemas.join('')}  };
}
`;
}

function operationType(method: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  const answers = Object.entries(responses).map(
    ([status, { description, content }]) =>
      `${docComment(description, '        ')}        ${status}: { headers: { [name: string]: unknown }; ${contentType(content)} };\n`
  );
  return `${docComment(summary, '    ')}    ${method}: {
      parameters: {
${parametersType('query', parameters)}${parametersType('path', parameters)}        header?: never;
        cookie?: never;
      };
      ${requestBody ? `requestBody: { ${contentType(requestBody.content)} }` : 'requestBody?: never'};
      responses: {
${answers.join('')}      };
    };
`;
}

function parametersType(place: Parameter['in'], parameters: readonly Parameter[]): string {
  const list = parameters.filter((parameter) => parameter.in === place);
  if (list.length === 0) return `        ${place}?: never;\n`;
  const fields = list.map(
    ({ name, required, description, schema }) =>
      `${docComment(description, '          ')}          ${JSON.stringify(name)}${required ? '' : '?'}: ${schemaType(schema, '          ')};\n`
  );
  return `        ${place}${list.some(({ required }) => required) ? '' : '?'}: {\n${fields.join('')}        };\n`;
}

function contentType(content: Operation['responses'][string]['content']): string {
  if (content === undefined) return 'content?: never';
  const types = Object.entries(content).map(
    ([media, { schema }]) => `${JSON.stringify(media)}: ${schemaType(schema, '        ')}`
  );
  return `content: { ${types.join('; ')} }`;
}

if (import.meta.main) {
  mkdirSync(dirname(TYPES_FILE), { recursive: true });
  writeFileSync(TYPES_FILE, clientTypes(await explorerDocument()));
}
