// The callbacks of a call in the API document: the requests that Tillgate sends to CallbackURI. Details: docs/callbacks.md.

const header = (name: string, description: string, type: 'string' | 'integer' = 'string') =>
  ({ name, in: 'header', required: true, description, schema: { type } }) as const;

/** Components of the document: every callback has these headers. */
export const callbackHeaders = {
  WebhookId: header('webhook-id', 'Id of the callback, the same on every try: handle each id once.'),
  WebhookTimestamp: header('webhook-timestamp', 'Seconds since 1970 at this try.', 'integer'),
  WebhookSignature: header(
    'webhook-signature',
    '`v1,` and the Base64 of an HMAC-SHA256 over `id.timestamp.sequence.url`; several are separated by blanks.',
  ),
  TillgateSequence: header(
    'tillgate-sequence',
    'Number of the callback within its invoice or operation: ignore one below the highest seen.',
    'integer',
  ),
};

const retried = { description: 'Failed, as is no answer within 15 s: it is tried again after 1 min, 5 min, 30 min, 1 h and 6 h.' };

/** `x-callbacks` of a route becomes `callbacks` in the document: @fastify/swagger would drop its parameters and descriptions. */
function callbacksOf(name: string, summary: string, description: string): object {
  const get = {
    summary,
    operationId: name,
    description,
    security: [],
    parameters: Object.keys(callbackHeaders).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    responses: {
      '2XX': { description: 'Received.' },
      '4XX': retried,
      default: retried,
    },
  };
  return { 'x-callbacks': { [name]: { '{$request.body#/CallbackURI}': { get } } } };
}

export const invoiceCallbacks = callbacksOf(
  'invoiceChanged',
  'The invoice has changed its state',
  'The placeholders in CallbackURI are replaced: #OID# by the id of the invoice, #State# by Scanned, Payed, Expired or Cancelled, and with Payed #ReceiptID# by the fiscal receipt and #DeviceID# by the device that took the money.',
);

const operationPlaceholders =
  'The placeholders in CallbackURI are replaced: #OID# by the id of the operation, #State# by Completed, Refused or Unknown (the final one follows), with Completed #ReceiptID# by the fiscal receipt where there is one, and #DeviceID# by the register.';

/** `operationId` of the call: an id is unique in the document. */
export function operationCallbacks(operationId: string): object {
  return callbacksOf(`${operationId}Ended`, 'The operation has ended', operationPlaceholders);
}
