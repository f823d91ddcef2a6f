// The playground over HTTP, only in a sandbox; elsewhere there is no such path. No logic.
// The audit log has no entries: nothing here is real, and the ledger records the operations of the till as usual.
import type { FastifyRequest } from 'fastify';
import { noSuchPath } from '../../http/envelope.ts';
import { adminAnswers, amountField, readAmount, textField, uuidField } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { viewerOf } from '../../http/viewer.ts';
import { GatewayError } from '../../kernel/error-codes.ts';
import { Type } from '../../kernel/schema-type.ts';
import { type CabinetCall, configOf } from '../roles.ts';
import { apiPath, idParams, tags } from '../shared-schemas.ts';
import { playgroundExample } from './example.ts';
import type { PlaygroundPort } from './port.ts';
import { actName, channelName, powerCut, storyName, viewFields } from './view-schema.ts';

export interface PlaygroundRoutesDeps {
  /** Undefined outside a sandbox. */
  playground: () => PlaygroundPort | undefined;
}

const path = `${apiPath}/playground`;
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
  const route = (operationId: CabinetCall) => ({ config: configOf(operationId), preValidation });
  const about = (operationId: CabinetCall, summary: string) => ({ tags, operationId, summary, response: done });
  const deviceOf = (request: { params: { id: string } }) => request.params.id.toLowerCase();

  app.get(
    path,
    {
      ...route('readPlayground'),
      schema: {
        tags,
        operationId: 'readPlayground',
        summary: 'The state of the playground',
        description: 'Only in a sandbox; elsewhere there is no such path. Read it again at hints of kind `playground`.',
        response: adminAnswers({
          description: 'Devices, till, wire, callbacks, books and story.',
          fields: viewFields,
          example: playgroundExample,
        }),
      },
    },
    (request) => playgroundFor(request).read(),
  );

  app.post(
    `${path}/devices/:id/mode`,
    {
      ...route('setPlaygroundMode'),
      schema: {
        ...about('setPlaygroundMode', 'Let a person operate a device, or let it answer automatically'),
        params: idParams,
        body: Type.Object({ byHand: Type.Boolean() }),
      },
    },
    (request) => playgroundFor(request).setByHand(deviceOf(request), request.body.byHand),
  );

  app.post(
    `${path}/devices/:id/act`,
    {
      ...route('actInPlayground'),
      schema: {
        ...about('actInPlayground', 'Act as the person in front of the device'),
        params: idParams,
        body: Type.Object({ action: actName }),
      },
    },
    (request) => playgroundFor(request).act(deviceOf(request), request.body.action),
  );

  app.post(
    `${path}/devices/:id/faults`,
    {
      ...route('armPlayground'),
      schema: {
        ...about('armPlayground', 'Arm a fault for the next command of a device'),
        params: idParams,
        body: Type.Object({
          loseAnswer: Type.Optional(Type.Boolean()),
          answerTwice: Type.Optional(Type.Boolean()),
          paperOut: Type.Optional(Type.Boolean({ description: 'Until a new roll is inserted.' })),
          powerCut: Type.Optional(
            Type.Unsafe<'beforeBank' | 'afterBank' | null>({ ...powerCut, nullable: true, enum: ['beforeBank', 'afterBank', null] }),
          ),
        }),
      },
    },
    (request) => playgroundFor(request).arm(deviceOf(request), request.body),
  );

  app.post(
    `${path}/devices/:id/channels`,
    {
      ...route('cutPlaygroundChannel'),
      schema: {
        ...about('cutPlaygroundChannel', 'Cut a channel of a device, or mend it'),
        params: idParams,
        body: Type.Object({ via: channelName, isCut: Type.Boolean() }),
      },
    },
    (request) => playgroundFor(request).setChannel(deviceOf(request), request.body.via, request.body.isCut),
  );

  app.post(
    `${path}/devices/:id/power`,
    {
      ...route('switchPlaygroundDevice'),
      schema: {
        ...about('switchPlaygroundDevice', 'Switch a device off or on'),
        params: idParams,
        body: Type.Object({ isOn: Type.Boolean() }),
      },
    },
    (request) => playgroundFor(request).setPower(deviceOf(request), request.body.isOn),
  );

  app.post(
    `${path}/till/sale`,
    {
      ...route('sellInPlayground'),
      schema: {
        ...about('sellInPlayground', 'Sell: card payment, close of the document, receipt'),
        description: 'Without items and amount: the basket of the till. The answer does not wait for the sale.',
        body: Type.Object({
          items: Type.Optional(Type.Array(item, { minItems: 1, maxItems })),
          amount: Type.Optional(amountField('Instead of items.')),
          deviceId: device,
          registerId: Type.Optional(device),
        }),
      },
    },
    (request) => {
      const { items, amount, deviceId, registerId } = request.body;
      return playgroundFor(request).sell({
        items,
        amountBani: amount === undefined ? undefined : readAmount('amount', amount),
        deviceId: deviceId.toLowerCase(),
        registerId: registerId?.toLowerCase(),
      });
    },
  );

  app.post(
    `${path}/till/invoice`,
    {
      ...route('invoiceInPlayground'),
      schema: {
        ...about('invoiceInPlayground', 'Create an invoice and show its QR'),
        body: Type.Object({
          amount: Type.Optional(amountField('Instead of the basket.')),
          expiresInS: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400, description: 'Absent: it does not expire.' })),
        }),
      },
    },
    (request) => {
      const { amount, expiresInS } = request.body;
      return playgroundFor(request).createInvoice({
        amountBani: amount === undefined ? undefined : readAmount('amount', amount),
        expiresInS,
      });
    },
  );

  app.post(
    `${path}/till/invoice/scan`,
    {
      ...route('scanInPlayground'),
      schema: { ...about('scanInPlayground', 'Scan the QR with a device'), body: Type.Object({ deviceId: device }) },
    },
    (request) => playgroundFor(request).scanInvoice(request.body.deviceId.toLowerCase()),
  );

  app.post(
    `${path}/till/invoice/pay`,
    {
      ...route('payInvoiceInPlayground'),
      schema: { ...about('payInvoiceInPlayground', 'Pay the invoice on a device'), body: Type.Object({ deviceId: device }) },
    },
    (request) => playgroundFor(request).payInvoice(request.body.deviceId.toLowerCase()),
  );

  app.post(
    `${path}/till/refund`,
    {
      ...route('refundInPlayground'),
      schema: {
        ...about('refundInPlayground', 'Refund the last sale'),
        body: Type.Object({ amount: Type.Optional(amountField('Absent: the rest of the sale.')) }),
      },
    },
    (request) => {
      const { amount } = request.body;
      playgroundFor(request).refund(amount === undefined ? undefined : readAmount('amount', amount));
    },
  );

  app.post(
    `${path}/till/again`,
    { ...route('repeatInPlayground'), schema: about('repeatInPlayground', 'Repeat the till’s last call unchanged') },
    (request) => playgroundFor(request).again(),
  );

  app.post(
    `${path}/erp`,
    {
      ...route('switchPlaygroundErp'),
      schema: { ...about('switchPlaygroundErp', 'Switch the ERP off or on'), body: Type.Object({ isDown: Type.Boolean() }) },
    },
    (request) => playgroundFor(request).setErpDown(request.body.isDown),
  );

  app.post(
    `${path}/books/empty`,
    {
      ...route('emptyPlaygroundBooks'),
      schema: {
        ...about('emptyPlaygroundBooks', 'Compare the books from now on'),
        description: 'No book changes; earlier sales of the till are no longer summed.',
      },
    },
    (request) => playgroundFor(request).emptyBooks(),
  );

  app.post(`${path}/stories/stop`, { ...route('stopStory'), schema: about('stopStory', 'Stop the story that runs') }, (request) =>
    playgroundFor(request).stopStory(),
  );

  app.post(
    `${path}/stories/mode`,
    {
      ...route('setStoryMode'),
      schema: {
        ...about('setStoryMode', 'Play stories step by step, or without a pause'),
        description: 'A waiting story continues after two minutes, or at once when this is switched off.',
        body: Type.Object({ stepByStep: Type.Boolean() }),
      },
    },
    (request) => playgroundFor(request).setStepByStep(request.body.stepByStep),
  );

  app.post(
    `${path}/stories/next`,
    { ...route('continueStory'), schema: about('continueStory', 'Play the next step of the story') },
    (request) => playgroundFor(request).nextStep(),
  );

  app.post(
    `${path}/stories/:name`,
    {
      ...route('playStory'),
      schema: {
        ...about('playStory', 'Play a story'),
        description: 'One at a time: 31 while another one runs. Every device is reset first.',
        params: Type.Object({ name: storyName }),
      },
    },
    (request) => playgroundFor(request).play(request.params.name),
  );
}
