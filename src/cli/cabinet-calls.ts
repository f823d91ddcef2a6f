// What the command line can ask of the cabinet: one entry a command, with its options, the call of the cabinet's API that it makes
// and how its answer is shown. A new command is a new entry.
import { type Body, type Definition, fields, merchantOption, part, plain, table, wholeNumber } from './cabinet-definition.ts';
import { everydayCalls } from './everyday-calls.ts';
import { UsageError } from './usage-error.ts';

export const definitions: readonly Definition[] = [
  {
    name: 'merchant create',
    help: 'Creates a merchant. The callback secret verifies the signature of callbacks.',
    options: { 'name!': 'name of the merchant' },
    call: ({ name }) => ({ method: 'POST', path: '/merchants', body: { name } }),
    show: fields('id', 'name', 'callbackSecret'),
  },
  {
    name: 'merchant list',
    help: 'Lists the merchants.',
    call: () => ({ method: 'GET', path: '/merchants' }),
    show: table('merchants', 'id', 'name', 'createdAt', 'sharePercent'),
  },
  {
    name: 'merchant share',
    help: 'Sets how many requests under way a merchant may have, as a part of all; without --percent the setting holds again.',
    subject: 'MERCHANT_ID',
    options: { percent: 'from 1 to 100' },
    call: ({ percent }, id) => ({
      method: 'POST',
      path: `/merchants/${part(id)}/share`,
      body: { sharePercent: wholeNumber('--percent', percent) },
    }),
    show: () => 'Set.',
  },
  {
    name: 'merchant secret',
    help: "Replaces a merchant's signing secret; the ones until now sign beside it for the overlap. The new one is shown this once.",
    subject: 'MERCHANT_ID',
    options: { 'overlap-s': 'seconds that the old secrets go on at most (86400)' },
    call: (values, id) => ({
      method: 'POST',
      path: `/merchants/${part(id)}/secret`,
      body: { overlapS: wholeNumber('--overlap-s', values['overlap-s']) },
    }),
    show: fields('secret', 'oldSecretEndsAt'),
  },
  {
    name: 'user create',
    help: 'Invites a user and shows the one-time link to hand over; without --email, for the first operator, who enters it (1 h).',
    options: {
      email: 'e-mail, by which they sign in',
      name: 'their name',
      role: 'operator, merchant or viewer (operator)',
      merchant: 'id of their merchant; a viewer without one sees all',
    },
    call({ email, name, role = 'operator', merchant }) {
      if (email === undefined) {
        if (name ?? merchant) throw new UsageError('--email is missing.');
        return { method: 'POST', path: '/users/first-operator' };
      }
      const allMerchants = role === 'viewer' && merchant === undefined ? true : undefined;
      return { method: 'POST', path: '/users', body: { email, name: name ?? email, role, merchantId: merchant, allMerchants } };
    },
    show: fields('link', 'linkExpiresAt'),
  },
  {
    name: 'user reset',
    help: 'Shows a one-time link by which a user sets a new password, or signs in for the first time. One-time codes stay on.',
    subject: 'EMAIL_OR_ID',
    call: (_values, id) => ({ method: 'POST', path: `/users/${part(id)}/link` }),
    show: fields('link', 'linkExpiresAt'),
  },
  {
    name: 'user codes-off',
    help: 'Turns off the one-time codes of a user who has lost the authenticator app. Their sessions end.',
    subject: 'USER_ID',
    call: (_values, id) => ({ method: 'PATCH', path: `/users/${part(id)}`, body: { totp: false } }),
    show: () => 'Off.',
  },
  {
    name: 'user list',
    help: 'Lists users, at most 200 of them; --after goes on behind an e-mail.',
    options: { ...merchantOption, after: 'the last e-mail of the list before' },
    call: ({ merchant, after }) => ({ method: 'GET', path: '/users', query: { merchantId: merchant, cursor: after, limit: '200' } }),
    show: table('users', 'id', 'email', 'name', 'role', 'merchantName', 'hasTotp', 'state'),
  },
  {
    name: 'key create',
    help: 'Creates an API key. The key is shown this once.',
    options: {
      'merchant!': 'id of the merchant',
      'name!': 'what the key is for',
      'modules!': 'what it opens, of POS, QR and Fiscal, separated by commas',
      expires: 'when it ends, for example 2027-01-31T00:00:00Z; never, if absent',
    },
    call: ({ merchant, name, modules = '', expires }) => ({
      method: 'POST',
      path: '/keys',
      body: { merchantId: merchant, name, modules: modules.split(',').map((module) => module.trim()), expiresAt: expires },
    }),
    show: fields('id', 'key', 'expiresAt'),
  },
  {
    name: 'key list',
    help: 'Lists API keys, without the keys themselves.',
    options: merchantOption,
    call: ({ merchant }) => ({ method: 'GET', path: '/keys', query: { merchantId: merchant } }),
    show: table('keys', 'id', 'merchantId', 'name', 'modules', 'state', 'expiresAt', 'lastUsedAt'),
  },
  {
    name: 'key revoke',
    help: 'Ends a key at once.',
    subject: 'KEY_ID',
    call: (_values, id) => ({ method: 'POST', path: `/keys/${part(id)}/revoke` }),
    show: fields('revokedAt'),
  },
  {
    name: 'key rotate',
    help: 'Creates a key that takes over; the old one goes on for the overlap. The new key is shown this once.',
    subject: 'KEY_ID',
    options: { 'overlap-s': 'seconds that the old key goes on (86400)' },
    call: (values, id) => ({
      method: 'POST',
      path: `/keys/${part(id)}/rotate`,
      body: { overlapS: wholeNumber('--overlap-s', values['overlap-s']) },
    }),
    show: fields('id', 'key', 'expiresAt', 'oldKeyEndsAt'),
  },
  {
    name: 'device create',
    help: 'Registers a device and shows the code to pair it with.',
    options: {
      'merchant!': 'id of the merchant',
      'kind!': 'terminal or register',
      'name!': 'name of the device',
      bank: 'code of the bank, for a terminal',
      'pos-code': 'point-of-sale code',
      id: 'its UUID, if it has one already',
    },
    call: ({ merchant, kind, name, bank, id, ...rest }) => ({
      method: 'POST',
      path: '/devices',
      body: { id, merchantId: merchant, kind, name, bank, pointOfSalesCode: rest['pos-code'] },
    }),
    show: fields('id', 'pairingCode', 'pairingExpiresAt'),
  },
  {
    name: 'device list',
    help: 'Lists devices.',
    options: merchantOption,
    call: ({ merchant }) => ({ method: 'GET', path: '/devices', query: { merchantId: merchant } }),
    show: table('devices', 'id', 'kind', 'name', 'bank', 'state', 'liveOn', 'lastSeenAt'),
  },
  {
    name: 'device rename',
    help: 'Gives a device another name.',
    subject: 'DEVICE_ID',
    options: { 'name!': 'the new name' },
    call: ({ name }, id) => ({ method: 'POST', path: `/devices/${part(id)}/rename`, body: { name } }),
    show: () => 'Renamed.',
  },
  {
    name: 'device disable',
    help: 'Cuts a device off: it can neither log in nor be reached.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/disable` }),
    show: () => 'Disabled.',
  },
  {
    name: 'device enable',
    help: 'Lets a disabled device in again, with the secret that it has.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/enable` }),
    show: () => 'Enabled.',
  },
  {
    name: 'device secret',
    help: 'Gives a device a new secret, shown this once; the old one ends.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/secret` }),
    show: fields('secret'),
  },
  {
    name: 'device pairing-code',
    help: 'Shows a new code to pair a device with; an older one ends.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'POST', path: `/devices/${part(id)}/pairing` }),
    show: fields('pairingCode', 'pairingExpiresAt'),
  },
  {
    name: 'device messages',
    help: 'Shows what of a device the gateway dropped: which field, and why. Of the instance that answers, since its start.',
    subject: 'DEVICE_ID',
    call: (_values, id) => ({ method: 'GET', path: `/devices/${part(id)}/messages` }),
    show: (body) => ((body['dropped'] as Body[]).length === 0 ? 'Nothing was dropped.' : droppedTable(body)),
    follow: { fresh: newDrops, line: dropLine },
  },
  ...everydayCalls,
];

const droppedTable = table('dropped', 'lastAt', 'channel', 'reason', 'field', 'count', 'why');

/** The kinds of which there are more than before, the oldest first. */
function newDrops(body: Body, before: Body): Body[] {
  const known = new Map((before['dropped'] as Body[]).map((drop) => [keyOf(drop), drop['count']]));
  return (body['dropped'] as Body[]).filter((drop) => drop['count'] !== known.get(keyOf(drop))).reverse();
}

function dropLine({ lastAt, channel, reason, field, why, count }: Body): string {
  const named = field === undefined ? [] : [`${plain(field)}:`];
  return [lastAt, channel, reason, ...named, why, `(${plain(count)})`].map(plain).join(' ');
}

const keyOf = ({ channel, reason, field, why }: Body) => [channel, reason, field, why].join(' ');
