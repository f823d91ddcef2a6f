// JSON Schemas of the fields that commands and their reports have, for operations.ts. Unknown fields are allowed everywhere.
// Plain objects: virtual devices and the cabinet's pages load the catalogue, and TypeBox would be the larger part of it.

export type FieldSchema = Readonly<Record<string, unknown>>;

export interface ObjectSchema {
  type: 'object';
  required?: readonly string[];
  properties: Readonly<Record<string, FieldSchema>>;
  description?: string;
}

type Fields = ObjectSchema['properties'];

export function fields(required: Fields, optional: Fields = {}, description?: string): ObjectSchema {
  const names = Object.keys(required);
  return {
    type: 'object',
    ...(names.length === 0 ? {} : { required: names }),
    properties: { ...required, ...optional },
    ...(description === undefined ? {} : { description }),
  };
}

const listOf = (items: ObjectSchema) => ({ type: 'array', items, minItems: 1 });

export const text = (description: string) => ({ type: 'string', description });
export const notEmpty = (description: string) => ({ type: 'string', minLength: 1, description });
export const time = (description: string) => ({ type: 'string', format: 'date-time', description });
export const yesNo = (description: string) => ({ type: 'boolean', description });
export const count = (description: string) => ({ type: 'integer', minimum: 0, description });
export const numberOrText = (description: string) => ({ anyOf: [{ type: 'integer' }, { type: 'string', minLength: 1 }], description });

/** An amount in a command. */
export const amount = { type: 'number', minimum: 0.01, maximum: 9_999_999_999.99, description: 'Lei with at most two decimals.' };
/** An amount in a report; a total may be zero. */
export const money = (description: string) => ({ type: 'number', description: `${description} Lei with at most two decimals.` });
export const currency = { type: 'string', const: 'MDL' };
export const documentNr = text("The ERP's number of the document, a UUID or any other text.");
export const operationId = text("The bank's number of the payment, as the terminal reported it in Pay.");

export const cashArgs = fields({ amount }, { reason: text('For the paper; may be absent.') });
export const cashReport = fields({
  documentNumber: numberOrText('Number in the fiscal memory.'),
  cashInDrawer: money('What is in the drawer now.'),
});
export const noReport = fields({}, {}, 'Nothing is asked for; whatever the device adds is passed on.');

const paid = fields(
  {
    rrn: text('Reference Retrieval Number.'),
    operationId: text("The bank's number of the payment."),
    amount: money('What was paid; equal to Amount.'),
    documentNr: text('Number of the payment.'),
  },
  { authCode: text('Authorization code.') },
  'The payment was made on a card terminal before: print it under its code, count it under card, ask no bank. Only for registers whose presence lists the feature `paid`.',
);
const paymentCode = {
  anyOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', pattern: '^\\d{1,9}$' },
  ],
  description: '1, 2, 7 and 1000 are card payments.',
};
const item = fields({
  Name: { type: 'string', minLength: 1 },
  Quantity: { type: 'number', exclusiveMinimum: 0 },
  Price: { type: 'number', description: 'Lei; negative for a discount line.' },
});
export const receipt = fields(
  { Items: listOf(item), Payments: listOf(fields({ PaymentCode: paymentCode }, { paid: { ...paid } })) },
  { Number: text('Number of the receipt or invoice.'), Uid: text('Unique id of the receipt.') },
  'The receipt as the ERP sent it, with all its fields.',
);
