// Shared parts of route schemas, and the answers of a route with an example of every outcome.
// Response schemas are documentation only: they do not filter or convert answers.
import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { type ErrorName, errorCodes, invalidRequest } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { amountRule, type Bani, parseAmount } from '../kernel/money.ts';
import { operationStates } from '../kernel/operation-states.ts';
import { type Operation, type OperationName, operations } from '../kernel/operations.ts';
import { failureBody, successBody } from './envelope.ts';

/** Puts the schema under this name into the components of the API document; generated clients have a type of that name. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return Object.assign(schema, { 'x-name': name });
}

// Fields. `x-rule` replaces the validator's own message.

/** Not required in the schema, because the header X-API-Key may carry the key; authentication.ts checks it before the schema. */
export const keyField = Type.Optional(
  Type.String({ format: 'uuid', description: 'API key; may be sent in the header X-API-Key instead.' }),
);

export function uuidField(description: string, ...examples: string[]) {
  return Type.String({ format: 'uuid', description, ...(examples.length === 0 ? {} : { examples }) });
}

export function textField(description: string, maxLength = 255, minLength = 1) {
  return Type.String({ minLength, maxLength, description });
}

/** JSON number or text [D145]. */
export function decimalField(description: string, more: object = {}) {
  return Type.Unsafe<number | string>({ anyOf: [{ type: 'number' }, { type: 'string' }], description, ...more });
}

/** A decimal in MDL [D12]; the schema accepts both types and `readAmount` applies the rule. */
export function amountField(description: string) {
  return decimalField(description, { 'x-rule': amountRule });
}

export function dateTimeField(description: string) {
  return Type.String({ format: 'date-time', maxLength: 40, description, 'x-rule': 'must be a date and time such as 2030-01-31T12:00:00Z' });
}

/** Null and an empty text count as absent [D145]: `erp-fields.ts` removes them before the schema check. */
export function optionalField<Schema extends TSchema>(field: Schema) {
  // OpenAPI 3.0 allows `nullable` only beside a type.
  const anyOf = (field as { anyOf?: object[] }).anyOf?.map((way) => ({ ...way, nullable: true }));
  return Type.Optional(Type.Unsafe<Static<Schema>>({ ...field, ...(anyOf === undefined ? { nullable: true } : { anyOf }) }));
}

/** `schema.headers` of POSTs that can be repeated safely [D13]; idempotencyKeyOf checks the value. */
export const idempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,255}$',
      description:
        'Valid until 24 h after the operation has ended: the same key and body get the same answer; another body with the key is 22.',
    }),
  ),
});

/** Fields beside `report` in every answer of a ledger command, with any errorCode [D61]. */
export const operationFields = {
  OID: Type.String({
    format: 'uuid',
    description:
      'Id of the operation: the #OID# of its completion notices, and the parameter of Device/Operation/Status. Also with errorCode 3 and 50.',
  }),
  Repeated: Type.Optional(
    Type.Boolean({
      description:
        'True if the request was recognised by its content as the repeat of one whose caller did not get the outcome: this is that outcome, and nothing was executed again.',
    }),
  ),
  State: Type.Optional(
    named(
      'OperationState',
      Type.Enum([...operationStates], {
        description: 'Current state of the operation. Use it for decisions: with errorCode 22, Closed means paid.',
      }),
    ),
  ),
  Remainder: Type.Optional(Type.Number({ description: 'Of a payment that was refunded in part: the amount not refunded, in lei.' })),
};

/** For the document: the operation of a call, and the time-out of its device. */
export function deviceOperation(name: OperationName): object {
  return { 'x-operation': name, ...deviceTimeout(operations[name].answerWithinMs) };
}

/** For the document: the time-out of the device. */
export function deviceTimeout(timeoutMs: number): object {
  return { 'x-device-timeout-s': timeoutMs / 1000 };
}

function reportText(name: string, schema: TSchema) {
  return Type.String({ description: `The device's answer, a JSON document in a string: ${name}.`, 'x-report': named(name, schema) });
}

/** `report` of a success: the device's answer, with a schema for its content. Devices may send more fields. */
export function reportField(name: string, properties: TProperties) {
  return reportText(name, Type.Object(properties));
}

/** The same from the catalogue. The gateway forwards reports unchecked, so only the `certain` fields are required. */
export function operationReport(name: string, { report }: Operation, certain?: readonly string[]) {
  const { type, properties } = report;
  return reportText(name, Type.Unsafe<unknown>({ type, ...(certain && { required: certain }), properties }));
}

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

const errors = Object.entries(errorCodes);
const envelopeFields = {
  errorCode: named(
    'ErrorCode',
    Type.Unsafe<number>({
      type: 'integer',
      enum: errors.map(([, { code }]) => code),
      'x-enum-varnames': errors.map(([name]) => name),
      description: errors.map(([name, { code }]) => `${code} ${name}`).join(', '),
    }),
  ),
  errorMessage: Type.String({ description: 'Empty on success; otherwise the name of the error, a colon and a sentence.' }),
};
const rawReport = Type.Optional(Type.String({ description: "The device's answer, a JSON document in a string." }));

export interface SuccessAnswer {
  description: string;
  /** Name of the answer's schema in the API document. */
  name?: string;
  /** Fields beside errorCode and errorMessage; `report` is added. In the schema none is required, because a failure has the same schema. */
  fields?: TProperties;
  /** A typical result of the handler; the envelope is added. */
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
  401: 'Not signed in, and no admin token was sent.',
  403: 'The role does not allow it, or the password must be entered again (needsConfirmation).',
  429: 'Too many requests; retry after the seconds in Retry-After.',
  503: 'Not ready.',
};

function addExample(answers: Answers, status: number, schema: TSchema, name: string, example: Example): void {
  answers[status] ??= {
    description: descriptionsByStatus[status] ?? 'The request failed.',
    content: { 'application/json': { schema, examples: {} } },
  };
  answers[status].content['application/json'].examples[name] = example;
}

const failure = named(
  'Failure',
  Type.Object({
    ...envelopeFields,
    report: rawReport,
    OID: Type.Optional(Type.String({ format: 'uuid', description: 'Id of the operation that the sentence is about.' })),
    Repeated: operationFields.Repeated,
    State: operationFields.State,
    Remainder: operationFields.Remainder,
    Operation: Type.Optional(Type.String({ description: 'In Device/Operation/Status: the command that was sent to the device.' })),
  }),
);

function addErrors(answers: Answers, names: readonly ErrorName[], schema200: TSchema, statusOf: (name: ErrorName) => number): void {
  for (const name of new Set(names)) {
    const { code, meaning } = errorCodes[name];
    const status = statusOf(name);
    const schema = status === 200 ? schema200 : failure;
    addExample(answers, status, schema, name, { summary: `${code} ${name}`, value: failureBody({ errorName: name, message: meaning }) });
  }
}

const statusInCatalogue = (name: ErrorName) => errorCodes[name].httpStatus;
const everywhere: readonly ErrorName[] = ['Internal_error', 'Error_Connection_Database', 'Invalid_Request', 'Too_Many_Requests'];

/** Only the errors, by HTTP status, each with its example. */
export function errorResponses(...names: ErrorName[]): Answers {
  const answers: Answers = {};
  addErrors(answers, names, failure, statusInCatalogue);
  return answers;
}

/** `schema.response` of a route with a key: success, the errors of every route, 10 and 11, and the given ones. */
export function answers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  return describeAnswers(success, ['Invalid_API_Key', 'API_Key_Wrong_Product', ...names], statusInCatalogue);
}

/** Possible errors of every command to a terminal or register. */
export const deviceErrors = [
  'Timeout_or_no_response',
  'Device_Offline',
  'Device_Busy',
  'Refused_By_Device',
  'The_status_cannot_be_applied',
] as const satisfies readonly ErrorName[];

/** `schema.response` of an open route. */
export function openAnswers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  return describeAnswers(success, names, statusInCatalogue, certainOf(success));
}

/** The same for a health check, which answers the given errors with HTTP 503. */
export function healthAnswers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  return orUnavailable(openAnswers(success), ...names);
}

/** The answers, and the given errors with HTTP 503. */
export function orUnavailable(answered: Answers, ...names: ErrorName[]): Answers {
  addErrors(answered, names, failure, () => 503);
  return answered;
}

/** `schema.response` of a route of the cabinet: 401 without a session, 403 for a role without the right. */
export function adminAnswers(success: SuccessAnswer, ...names: ErrorName[]): Answers {
  const statuses: Partial<Record<ErrorName, number>> = { Invalid_API_Key: 401, API_Key_Wrong_Product: 403 };
  return describeAnswers(
    success,
    ['Invalid_API_Key', 'API_Key_Wrong_Product', ...names],
    (name) => statuses[name] ?? statusInCatalogue(name),
    certainOf(success),
  );
}

function describeAnswers(success: SuccessAnswer, names: ErrorName[], statusOf: (name: ErrorName) => number, more = {}): Answers {
  const schema = success.name === undefined ? answerSchema(success, more) : named(success.name, answerSchema(success, presence(success)));
  const result: Answers = {};
  addExample(result, 200, schema, 'Success', { summary: '0 NoError', value: successBody(success.example) });
  if (result[200]) result[200].description = success.description;
  addErrors(result, [...names, ...everywhere], schema, statusOf);
  return result;
}

/** One schema for success and failure [D292]: both come with HTTP 200, so only the envelope's fields are required. */
function answerSchema({ fields = {} }: SuccessAnswer, more: Record<string, unknown>): TSchema {
  const optionalFields = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)]));
  return Type.Object({ ...envelopeFields, report: rawReport, ...optionalFields }, more);
}

/** For readers: what the schema cannot require. */
function presence(success: SuccessAnswer): Record<string, unknown> {
  const { 'x-certain': certain = [] } = certainOf(success) as { 'x-certain'?: string[] };
  return certain.length === 0 ? {} : { description: `With errorCode 0 it has ${certain.join(', ')}.`, 'x-certain': certain };
}

/** `x-certain`: fields that every success has. scripts/web-types.ts uses it for the types of the cabinet's pages. */
function certainOf({ fields = {} }: SuccessAnswer): Record<string, unknown> {
  const { required } = Type.Object(fields) as { required?: string[] };
  return required === undefined ? {} : { 'x-certain': required };
}
