// The playground over HTTP, only in a sandbox; elsewhere there is no such path. No logic.
// The audit log has no entries: nothing here is real, and the ledger records the operations of the till as usual.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { noSuchPath } from '../../http/envelope.ts';
import { adminAnswers, amountField, readAmount, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { viewerOf } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { addRoute } from '../add-route.ts';
import { playgroundExample } from './example.ts';
import type { PlaygroundPort } from './port.ts';
import { actName, channelName, powerCut, storyName, viewFields } from './view-schema.ts';

export interface PlaygroundRoutesDeps {
  /** Undefined outside a sandbox. */
  playground: () => PlaygroundPort | undefined;
}

const device = uuidField('One of the playground’s devices.');
const done = adminAnswers(
  { description: 'Started; read the playground to see its effect.', example: {} },
  'Record_not_exist',
  'Device_Busy',
  'The_status_cannot_be_applied',
);
const maxItems = 20;
const item = Type.Object({
  name: textField('What is sold.', 60),
  quantity: Type.Number({ minimum: 0.001, maximum: 1_000 }),
  price: amountField('Price of one, in lei.'),
});

export function registerPlaygroundRoutes(app: RouteApp, { playground }: PlaygroundRoutesDeps): void {
  /** Refuses users of another merchant. */
  function playgroundFor(request: FastifyRequest): PlaygroundPort {
    const found = playground();
    if (found === undefined) throw noSuchPath();
    if ((viewerOf(request).merchantId ?? found.merchantId) !== found.merchantId)
      throw new GatewayError('Record_not_exist', 'The playground belongs to another merchant.');
    return found;
  }

  /** Before the body is validated: without a playground the path is unknown, whatever the body. */
  const preValidation = async () => {
    if (playground() === undefined) throw noSuchPath();
  };
  const change = { preValidation, response: done };

  addRoute(app, 'GET /playground', 'readPlayground', {
    preValidation,
    summary: 'The state of the playground',
    description: 'Only in a sandbox; elsewhere there is no such path. Read it again at hints of kind `playground`.',
    answer: {
      description: 'Devices, till, wire, callbacks, books and story.',
      fields: viewFields,
      example: playgroundExample,
    },
    handle: (request) => playgroundFor(request).read(),
  });

  addRoute(app, 'POST /playground/devices/:id/mode', 'setPlaygroundMode', {
    ...change,
    summary: 'Let a person operate a device, or let it answer automatically',
    body: Type.Object({ byHand: Type.Boolean() }),
    handle: (request) => playgroundFor(request).setByHand(request.params.id, request.body.byHand),
  });

  addRoute(app, 'POST /playground/devices/:id/act', 'actInPlayground', {
    ...change,
    summary: 'Act as the person in front of the device',
    body: Type.Object({ action: actName }),
    handle: (request) => playgroundFor(request).act(request.params.id, request.body.action),
  });

  addRoute(app, 'POST /playground/devices/:id/faults', 'armPlayground', {
    ...change,
    summary: 'Arm a fault for the next command of a device',
    body: Type.Object({
      loseAnswer: Type.Optional(Type.Boolean()),
      answerTwice: Type.Optional(Type.Boolean()),
      paperOut: Type.Optional(Type.Boolean({ description: 'Until a new roll is inserted.' })),
      powerCut: Type.Optional(
        Type.Unsafe<'beforeBank' | 'afterBank' | null>({ ...powerCut, nullable: true, enum: ['beforeBank', 'afterBank', null] }),
      ),
    }),
    handle: (request) => playgroundFor(request).arm(request.params.id, request.body),
  });

  addRoute(app, 'POST /playground/devices/:id/channels', 'cutPlaygroundChannel', {
    ...change,
    summary: 'Cut a channel of a device, or mend it',
    body: Type.Object({ via: channelName, isCut: Type.Boolean() }),
    handle: (request) => playgroundFor(request).setChannel(request.params.id, request.body.via, request.body.isCut),
  });

  addRoute(app, 'POST /playground/devices/:id/power', 'switchPlaygroundDevice', {
    ...change,
    summary: 'Switch a device off or on',
    body: Type.Object({ isOn: Type.Boolean() }),
    handle: (request) => playgroundFor(request).setPower(request.params.id, request.body.isOn),
  });

  addRoute(app, 'POST /playground/till/sale', 'sellInPlayground', {
    ...change,
    summary: 'Sell: card payment, close of the document, receipt',
    description: 'Without items and amount: the basket of the till. The answer does not wait for the sale.',
    body: Type.Object({
      items: Type.Optional(Type.Array(item, { minItems: 1, maxItems })),
      amount: Type.Optional(amountField('Instead of items.')),
      deviceId: device,
      registerId: Type.Optional(device),
    }),
    handle: (request) => {
      const { items, amount, deviceId, registerId } = request.body;
      return playgroundFor(request).sell({
        items,
        amountBani: amount === undefined ? undefined : readAmount('amount', amount),
        deviceId: deviceId.toLowerCase(),
        registerId: registerId?.toLowerCase(),
      });
    },
  });

  addRoute(app, 'POST /playground/till/invoice', 'invoiceInPlayground', {
    ...change,
    summary: 'Create an invoice and show its QR',
    body: Type.Object({
      amount: Type.Optional(amountField('Instead of the basket.')),
      expiresInS: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, description: 'Absent: it does not expire.' })),
    }),
    handle: (request) => {
      const { amount, expiresInS } = request.body;
      return playgroundFor(request).createInvoice({
        amountBani: amount === undefined ? undefined : readAmount('amount', amount),
        expiresInS,
      });
    },
  });

  addRoute(app, 'POST /playground/till/invoice/scan', 'scanInPlayground', {
    ...change,
    summary: 'Scan the QR with a device',
    body: Type.Object({ deviceId: device }),
    handle: (request) => playgroundFor(request).scanInvoice(request.body.deviceId.toLowerCase()),
  });

  addRoute(app, 'POST /playground/till/invoice/pay', 'payInvoiceInPlayground', {
    ...change,
    summary: 'Pay the invoice on a device',
    body: Type.Object({ deviceId: device }),
    handle: (request) => playgroundFor(request).payInvoice(request.body.deviceId.toLowerCase()),
  });

  addRoute(app, 'POST /playground/till/refund', 'refundInPlayground', {
    ...change,
    summary: 'Refund the last sale',
    body: Type.Object({ amount: Type.Optional(amountField('Absent: the rest of the sale.')) }),
    handle: (request) => {
      const { amount } = request.body;
      playgroundFor(request).refund(amount === undefined ? undefined : readAmount('amount', amount));
    },
  });

  addRoute(app, 'POST /playground/till/again', 'repeatInPlayground', {
    ...change,
    summary: 'Repeat the till’s last call unchanged',
    handle: (request) => playgroundFor(request).again(),
  });

  addRoute(app, 'POST /playground/erp', 'switchPlaygroundErp', {
    ...change,
    summary: 'Switch the ERP off or on',
    body: Type.Object({ isDown: Type.Boolean() }),
    handle: (request) => playgroundFor(request).setErpDown(request.body.isDown),
  });

  addRoute(app, 'POST /playground/books/empty', 'emptyPlaygroundBooks', {
    ...change,
    summary: 'Compare the books from now on',
    description: 'No book changes; earlier sales of the till are no longer summed.',
    handle: (request) => playgroundFor(request).emptyBooks(),
  });

  addRoute(app, 'POST /playground/stories/stop', 'stopStory', {
    ...change,
    summary: 'Stop the story that runs',
    handle: (request) => playgroundFor(request).stopStory(),
  });

  addRoute(app, 'POST /playground/stories/mode', 'setStoryMode', {
    ...change,
    summary: 'Play stories step by step, or without a pause',
    description: 'A waiting story continues after two minutes, or at once when this is switched off.',
    body: Type.Object({ stepByStep: Type.Boolean() }),
    handle: (request) => playgroundFor(request).setStepByStep(request.body.stepByStep),
  });

  addRoute(app, 'POST /playground/stories/next', 'continueStory', {
    ...change,
    summary: 'Play the next step of the story',
    handle: (request) => playgroundFor(request).nextStep(),
  });

  addRoute(app, 'POST /playground/stories/:name', 'playStory', {
    ...change,
    summary: 'Play a story',
    description: 'One at a time: 31 while another one runs. Every device is reset first.',
    params: Type.Object({ name: storyName }),
    handle: (request) => playgroundFor(request).play(request.params.name),
  });
}
