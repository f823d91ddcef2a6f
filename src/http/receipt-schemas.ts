// A receipt in the API document [D24]. `kernel/receipt.ts` holds the rules. Additional fields are allowed everywhere; the schemas do not
// declare `additionalProperties`, because some generators would then drop the named fields.

import { Type } from 'typebox';
import { receiptLimits } from '../kernel/receipt.ts';
import { decimalField, named, optionalField, textField } from './schemas.ts';

const identifier = (description: string) =>
  Type.Optional(Type.Unsafe<string | null>({ type: 'string', nullable: true, maxLength: receiptLimits.identifier, description }));

const item = named(
  'Item',
  Type.Object({
    Name: Type.String({ minLength: 1, maxLength: receiptLimits.name }),
    Quantity: decimalField('Over 0. A number or its text.'),
    Price: decimalField('Lei; negative on a discount line. A number or its text.'),
  }),
);

const payment = named(
  'Payment',
  Type.Object({
    PaymentCode: Type.Unsafe<number | string>({
      anyOf: [{ type: 'integer' }, { type: 'string' }],
      description: '0 is cash; 1, 2, 7 and 1000 are made by card. A whole number or its text.',
    }),
    documentNr: optionalField(
      textField(
        'With a card code: the number of a card payment that was made on a terminal. The register prints it as card and charges nothing. Without it, the Uid of a receipt with exactly one card code names that payment, if there is one.',
        receiptLimits.identifier,
      ),
    ),
    Amount: optionalField(decimalField('Lei paid this way, a number or its text; without it, the rest after the payments before it.')),
  }),
);

const fields = {
  Number: identifier('Number of the receipt or invoice.'),
  Uid: identifier('Unique id of the receipt: a register prints once per Uid.'),
  Items: Type.Array(item, { minItems: 1, maxItems: receiptLimits.items }),
};

/** Of an invoice. */
export const receiptSchema = named(
  'Receipt',
  Type.Object(
    {
      ...fields,
      Payments: Type.Optional(
        Type.Unsafe<object[] | null>({ ...Type.Array(payment, { maxItems: receiptLimits.payments }), nullable: true }),
      ),
    },
    { description: 'Stored unchanged and returned by Get; additional fields are allowed. At most 256 KiB as JSON.' },
  ),
);

/** Of a register, which requires the payments. */
export const fiscalReceiptSchema = named(
  'FiscalReceipt',
  Type.Object(
    { ...fields, Payments: Type.Array(payment, { minItems: 1, maxItems: receiptLimits.payments }) },
    { description: 'Passed on to the register with all its fields. At most 256 KiB as JSON.' },
  ),
);
