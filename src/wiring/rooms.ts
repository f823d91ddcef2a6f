// Creates every room with its dependencies and settings, lower layers first. Starts nothing.
import { createAccess } from '../access/access.ts';
import { createCountedAudit } from '../access/counted-audit.ts';
import { createKeyUses } from '../access/key-uses.ts';
import { createPeople } from '../access/people/people.ts';
import { createEventHub } from '../cabinet/events/event-hub.ts';
import { createHourKeeper } from '../cabinet/overview/hour-keeper.ts';
import { createSearchKeeper } from '../cabinet/sales/search-keeper.ts';
import { readMoneyOf } from '../cabinet/views/money-sql.ts';
import { createCallbacks } from '../callbacks/callbacks.ts';
import { createCards } from '../cards/cards.ts';
import type { Shared } from '../database/shared-deps.ts';
import { createDevices } from '../devices/devices.ts';
import { createPresenceKeeper } from '../devices/presence-keeper.ts';
import { createFiscal } from '../fiscal/fiscal.ts';
import { createInvoices } from '../invoices/invoices.ts';
import { createLedger } from '../ledger/ledger.ts';
import { createDeviceFloods } from '../link/brokers/device-floods.ts';
import { createMosquittoLogins } from '../link/brokers/mosquitto-logins.ts';
import { createRabbitmqConnections } from '../link/brokers/rabbitmq-connections.ts';
import { createLink } from '../link/link.ts';
import { createMoneyRooms } from '../money/rooms.ts';
import { createRemoval } from '../removal/removal.ts';
import type { Config } from '../settings.ts';
import type { Addresses } from './addresses.ts';
import { checkBrokerAdmins } from './broker-admins.ts';
import type { Certificate } from './certificate.ts';
import { createChannels } from './channels.ts';
import { choice } from './core-choice.ts';
import type { Traces } from './traces/traces.ts';

export interface RoomsDeps {
  config: Config;
  shared: Shared;
  certificate: Certificate | undefined;
  traces: Traces | undefined;
  /** Known once the gateway listens; throws before. */
  addresses(): Addresses;
}

export type Rooms = ReturnType<typeof createRooms>;

export function createRooms({ config, shared, certificate, traces, addresses }: RoomsDeps) {
  const access = createAccess({ ...shared, maxKeys: config.keysPerMerchant });
  const keyUses = createKeyUses(shared);
  const countedAudit = createCountedAudit(shared);
  const loginFailed = countedAudit.noteFailedLogin;
  const people = createPeople({
    ...shared,
    isSandbox: config.mode === 'sandbox',
    maxUsers: config.usersPerMerchant,
    baseUrl: () => addresses().baseUrl,
    sessionIdleMs: config.sessionIdleMin * 60_000,
    requiresTotp: config.requireTotp,
    onFailedLogin: loginFailed,
  });
  const { mosquittoAdminUrl, rabbitmqApiUrl } = config;
  const logins = mosquittoAdminUrl === undefined ? undefined : createMosquittoLogins({ ...shared, url: mosquittoAdminUrl });
  const rabbitmqConnections = rabbitmqApiUrl === undefined ? undefined : createRabbitmqConnections({ ...shared, apiUrl: rabbitmqApiUrl });
  const devices = createDevices({ ...shared, banks: config.banks, maxDevices: config.devicesPerMerchant, addresses, logins });

  const channels = createChannels(config, { ...shared, certificate, checkDevice: devices.checkSecret });
  const endConnections = rabbitmqConnections?.end;
  const floods = endConnections && createDeviceFloods({ ...shared, messagesPerS: config.deviceRate, endConnections });
  const bareLink = createLink({
    ...shared,
    gatewayId: shared.instanceId,
    channels: traces === undefined ? channels.all : channels.all.map(traces.channel),
    deviceMessagesPerS: config.deviceRate,
    onExcess: floods?.dropped,
  });
  const link = traces?.link(bareLink) ?? bareLink;
  devices.onCutOff((deviceId) => {
    link.disconnectDevice(deviceId);
    rabbitmqConnections?.end(deviceId);
  });

  const callbacks = createCallbacks({
    ...shared,
    delaysS: config.callbackDelaysS,
    allow: config.callbackAllow,
    keepDays: config.keepDays,
    watchSend: traces?.send,
  });
  const { scanGraceS, timeZone, joiners: joinersPerCommand } = config;
  const given = { ...shared, link, callbacks, scanGraceS, timeZone, joinersPerCommand };
  readMoneyOf(choice.core);
  const { invoices, ledger, cards, fiscal, dryRuns, removals } = choice.core === 'new' ? createMoneyRooms(given) : createOldRooms(given);
  const presenceKeeper = createPresenceKeeper({ ...shared, link });
  const events = createEventHub({
    ...shared,
    link,
    streamBounds: { maxPerUser: config.streamsPerUser, maxPerMerchant: config.streamsPerMerchant, maxInAll: config.streams },
  });
  const hourKeeper = createHourKeeper(shared);
  const searchKeeper = createSearchKeeper(shared);
  const removal = createRemoval({
    ...shared,
    decided: removals,
    keeping: { commandsDays: config.keepCommandsDays, invoicesDays: config.keepInvoicesDays, auditDays: config.keepAuditDays },
  });
  return {
    access,
    keyUses,
    countedAudit,
    loginFailed,
    people,
    devices,
    rabbitmqConnections,
    floods,
    checkBrokerAdmins: () => checkBrokerAdmins(shared.logger, { logins, rabbitmqConnections }),
    channels,
    link,
    callbacks,
    invoices,
    ledger,
    cards,
    fiscal,
    dryRuns,
    presenceKeeper,
    events,
    removal,
    hourKeeper,
    searchKeeper,
  };
}

function createOldRooms({ joinersPerCommand, ...given }: Parameters<typeof createMoneyRooms>[0]): ReturnType<typeof createMoneyRooms> {
  const invoices = createInvoices(given);
  const ledger = createLedger({ ...given, ...(joinersPerCommand === undefined ? {} : { joinersPerCommand }) });
  const cards = createCards({ ...given, ledger, invoices });
  return { invoices, ledger, cards, fiscal: createFiscal({ ...given, ledger }) };
}
