// Shared pieces of route schemas, and the answers of a route with an example of every outcome.
// Response schemas only describe: nothing that is sent is filtered or converted by them.
import Type, { type TProperties, type TSchema } from 'typebox';
import { type ErrorName, errorCodes, GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { amountRule, type Bani, parseAmount } from '../kernel/money.ts';
import { failureBody, successBody } from './envelope.ts';

// Fields. `x-rule` is the sentence that a caller gets instead of the validator's own.

/** Not required in the schema, because the header X-API-Key may carry it; access.ts judges it before the schema is looked at. */
export const keyField = Type.Optional(
  Type.String({ format: 'uuid', description: 'API key; may be sent in the header X-API-Key instead.' }),
);

export function uuidField(description: string) {
  return Type.String({ format: 'uuid', description });
}

export function textField(description: string, maxLength = 255, minLength = 1) {
  return Type.String({ minLength, maxLength, description });
}

/** A decimal in MDL as JSON number or text [D12]; the schema lets both types pass and `readAmount` holds the rule. */
export function amountField(description: string) {
  return Type.Unsafe<number | string>({ anyOf: [{ type: 'number' }, { type: 'string' }], description, 'x-rule': amountRule });
}

export function dateTimeField(description: string) {
  return Type.String({ format: 'date-time', maxLength: 40, description, 'x-rule': 'must be a date and time such as 2030-01-31T12:00:00Z' });
}

/** `schema.headers` of the POSTs that can be repeated safely [D13]; idempotencyKeyOf judges it. */
export const idempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,255}$',
      description: 'Kept for 24 h: the same key and body give the same answer, another body under it is 22.',
    }),
  ),
});

/** Beside `report` in every answer of a ledger command, whatever its errorCode [D61]. */
export const operationFields = {
  OID: Type.String({
    format: 'uuid',
    description:
      'Id of the operation: the #OID# of its completion notices, and what Device/Operation/Status takes. Also with errorCode 3 and 50.',
  }),
  Repeated: Type.Boolean({
    description:
      'True when the request was recognised by its content as the repeat of one whose caller was left without the outcome: this is that outcome, and nothing was done again.',
  }),
};

export function readAmount(field: string, value: unknown): Bani {
  const bani = parseAmount(value);
  if (bani === undefined) throw invalidRequest(`${field} ${amountRule}.`);
  return bani;
}

/** The UUID in lower case. */
export function readUuid(field: string, value: unknown): string {
  const uuid = parseUuid(value);
  if (uuid === undefined) throw invalidRequest(`${field} must be a UUID.`);
  return uuid;
}

// Answers.

const envelopeFields = {
  errorCode: Type.Integer({ description: '0 is success; other values are in the table of errors.' }),
  errorMessage: Type.String({ description: 'Empty on success; otherwise the name of the error, a colon and a sentence.' }),
};
const reportField = Type.Optional(Type.String({ description: "The device's answer, a JSON document in a string." }));

export interface SuccessAnswer {
  description: string;
  /** Fields beside errorCode, errorMessage and report. */
  fields?: TProperties;
  /** What the handler returns in a typical case; the envelope is added. */
  example: object;
}

interface Example {
  summary: string;
  value: object;
}

export interface Answer {
  description: string;
  content: { 'application/json': { schema: TSchema; examples: Record<string, Example> } };
}
export type Answers = Record<number, Answer>;

const descriptionsByStatus: Record<number, string> = {
  200: 'The outcome is in errorCode.',
  400: 'The request breaks a rule.',
  401: 'Nobody is signed in, and no admin token was sent.',
  403: 'The role does not allow it, or the password must be given again (needsConfirmation).',
  429: 'Too many requests; Retry-After tells when to come again.',
  503: 'Not ready.',
};

function addExample(answers: Answers, status: number, schema: TSchema, name: string, example: Example): void {
  answers[status] ??= {
    description: descriptionsByStatus[status] ?? 'The request failed.',
    content: { 'application/json': { schema, examples: {} } },
  };
  answers[status].content['application/json'].examples[name] = example;
}

const errorEnvelope = Type.Object({ ...envelopeFields, report: reportField });

function addErrors(answers: Answers, names: readonly ErrorName[], schema200: TSchema, statusOf: (name: ErrorName) => number): void {
  for (const name of new Set(names)) {
    const { code, meaning } = errorCodes[name];
    const status = statusOf(name);
    const schema = status === 200 ? schema200 : errorEnvelope;
    addExample(answers, status, schema, name, { summary: `${code} ${name}`, value: failureBody(new GatewayError(name, meaning)) });
  }
}

const statusInCatalogue = (name: ErrorName) => errorCodes[name].httpStatus;
const everywhere: readonly ErrorName[] = ['Internal_error', 'Error_Connection_Database', 'Invalid_Request', 'Too_Many_Requests'];

/** Only the errors, each with its example, by HTTP status. */
export function errorResponses(...names: ErrorName[]): Answers {
  const answers: Answers = {};
  addErrors(answers, names, errorEnvelope, statusInCatalogue);
  return answers;
}

/** `schema.response` of a route with a key: success, the errors that any route has, 10 and 11, and those that are named. */
export function answers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  return describeAnswers(success, ['Invalid_API_Key', 'API_Key_Wrong_Product', ...names], statusInCatalogue);
}

/** What may go wrong with any command to a terminal or register. */
export const deviceErrors = [
  'Timeout_or_no_response',
  'Device_Offline',
  'Device_Busy',
  'Refused_By_Device',
  'The_status_cannot_be_applied',
] as const satisfies readonly ErrorName[];

/** `schema.response` of a route that is open to everybody. */
export function openAnswers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  return describeAnswers(success, names, statusInCatalogue);
}

/** `schema.response` of a route of the cabinet: 401 for a stranger, 403 for a role that may not. */
export function adminAnswers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  const statuses: Partial<Record<ErrorName, number>> = { Invalid_API_Key: 401, API_Key_Wrong_Product: 403 };
  return describeAnswers(
    success,
    ['Invalid_API_Key', 'API_Key_Wrong_Product', ...names],
    (name) => statuses[name] ?? statusInCatalogue(name),
  );
}

function describeAnswers(success: SuccessAnswer, names: ErrorName[], statusOf: (name: ErrorName) => number): Answers {
  const optionalFields = Object.fromEntries(Object.entries(success.fields ?? {}).map(([name, field]) => [name, Type.Optional(field)]));
  const schema = Type.Object({ ...envelopeFields, report: reportField, ...optionalFields });
  const result: Answers = {};
  addExample(result, 200, schema, 'Success', { summary: '0 NoError', value: successBody(success.example) });
  if (result[200]) result[200].description = success.description;
  addErrors(result, [...names, ...everywhere], schema, statusOf);
  return result;
}
