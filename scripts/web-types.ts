// Writes web/src/api/answers.ts, the TypeScript types of the cabinet's answers, from openapi/cabinet.json; with --check compares it:
// `node scripts/web-types.ts [--check]`. The envelope's fields are omitted: the cabinet's client throws if a call has failed.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runTextGenerator } from './generated-file.ts';

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  nullable?: boolean;
  'x-certain'?: string[];
}

interface Operation {
  operationId: string;
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const envelope = ['errorCode', 'errorMessage', 'report'];
const failures = ['ErrorCode', 'Failure'];

function typeOf(schema: Schema): string {
  const type = bareTypeOf(schema);
  return schema.nullable ? `${type} | null` : type;
}

function bareTypeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? '';
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.type === 'array') return `(${typeOf(schema.items ?? {})})[]`;
  if (schema.type === 'object') return objectOf(schema, schema.required ?? []);
  if (schema.type === 'integer') return 'number';
  return schema.type ?? 'unknown';
}

function objectOf({ properties = {}, additionalProperties }: Schema, required: readonly string[]): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${key}${required.includes(name) ? '' : '?'}: ${typeOf(field)}`;
  });
  if (fields.length > 0) return `{ ${fields.join('; ')} }`;
  return `Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'}>`;
}

function answerOf({ responses }: Operation): string | undefined {
  const schema = responses['200']?.content?.['application/json']?.schema;
  const fields = Object.entries(schema?.properties ?? {}).filter(([name]) => !envelope.includes(name));
  return fields.length === 0 ? undefined : objectOf({ properties: Object.fromEntries(fields) }, schema?.['x-certain'] ?? []);
}

interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

export function answerTypes(): string {
  const { paths, components } = JSON.parse(readFileSync(`${root}openapi/cabinet.json`, 'utf8')) as ApiDocument;
  const shared = Object.entries(components.schemas)
    .filter(([name]) => !failures.includes(name))
    .map(([name, schema]) =>
      schema.type === 'object' ? `export interface ${name} ${typeOf(schema)}\n` : `export type ${name} = ${typeOf(schema)};\n`,
    );
  const answers = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap((operation) => {
      const answer = answerOf(operation);
      return answer === undefined ? [] : [`${operation.operationId}: ${answer};`];
    });
  const head = '// Made by scripts/web-types.ts of openapi/cabinet.json: what each call of the cabinet answers.';
  const text = `${head}\n\n${shared.join('\n')}\nexport interface Answers {\n${answers.join('\n')}\n}\n`;
  const formatted = spawnSync(`${root}node_modules/.bin/biome`, ['format', '--stdin-file-path=web/src/api/answers.ts'], {
    cwd: root,
    input: text,
    encoding: 'utf8',
  });
  if (formatted.status !== 0) throw new Error(formatted.stderr);
  return formatted.stdout;
}

await runTextGenerator(import.meta.url, 'web/src/api/answers.ts', answerTypes);
