// Holds messages of the wire against asyncapi/v1.json, as a firmware developer would with a validator of their own.
// An answer does not say which command it answers, so commands are remembered by id.
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';

export interface AsyncApiDocument {
  channels: Record<string, { address: string; messages: Record<string, { $ref: string }> }>;
  operations: Record<string, { action: string; channel: { $ref: string }; messages: { $ref: string }[] }>;
  components: {
    schemas: Record<string, object>;
    messages: Record<string, { payload: { $ref: string }; examples: { name: string; payload: Record<string, unknown> }[] }>;
  };
}

export function readAsyncApi(): AsyncApiDocument {
  return JSON.parse(readFileSync(new URL('../../asyncapi/v1.json', import.meta.url), 'utf8')) as AsyncApiDocument;
}

export interface MessageCheck {
  /** Later answers to this command are held to its report. */
  remember(command: Record<string, unknown>): void;
  /** What is wrong with a command, answer, presence or frame. */
  problems(message: Record<string, unknown>): string[];
  /** What is wrong with a value by the schema of that name. */
  problemsBy(schema: string, value: unknown): string[];
}

export function createMessageCheck(document: AsyncApiDocument = readAsyncApi()): MessageCheck {
  const ajv = new Ajv({ strict: false, allErrors: true });
  ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
  ajv.addSchema(document, 'asyncapi');
  const names = new Map<string, string>();

  function problemsBy(schema: string, value: unknown): string[] {
    const validate = ajv.getSchema(`asyncapi#/components/schemas/${schema}`);
    if (!validate) throw new Error(`The document has no schema ${schema}.`);
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${schema} ${instancePath} ${String(message)}`);
  }

  function problems(message: Record<string, unknown>): string[] {
    if ('args' in message) return problemsBy(`${String(message['name'])}Command`, message);
    if ('outcome' in message) {
      const name = names.get(String(message['id']));
      return problemsBy(name === undefined ? 'Answer' : `${name}Answer`, message);
    }
    if ('online' in message) return problemsBy('Presence', message);
    for (const kind of ['command', 'answer', 'presence']) {
      const inner = message[kind];
      const frame = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Frame`;
      if (inner !== undefined) return [...problemsBy(frame, message), ...problems(inner as Record<string, unknown>)];
    }
    return ['It is none of the messages.'];
  }

  return {
    remember: (command) => void names.set(String(command['id']), String(command['name'])),
    problems,
    problemsBy,
  };
}
