// Commands that call the cabinet's API: one entry per command, with its options, its call and the form of its output. A new command is a new
// entry.
import { type Body, type Definition, fields, get, merchantOption, part, plain, post, table, wholeNumber } from './cabinet-definition.ts';
import { everydayCalls } from './everyday-calls.ts';
import { UsageError } from './usage-error.ts';

export const definitions: readonly Definition[] = [
  {
    name: 'merchant create',
    help: 'Creates a merchant. The callback secret verifies the signature of callbacks.',
    options: { 'name!': 'name of the merchant' },
    call: ({ name }) => post('/merchants', { name }),
    show: fields('id', 'name', 'callbackSecret'),
  },
  {
    name: 'merchant list',
    help: 'Lists the merchants.',
    call: () => get('/merchants'),
    show: table('merchants', 'id', 'name', 'createdAt', 'sharePercent'),
  },
  {
    name: 'merchant share',
    help: 'Sets the share of a merchant in the request slots; without --percent the configured default applies again.',
    subject: 'MERCHANT_ID',
    options: { percent: 'from 1 to 100' },
    call: ({ percent }, id) => post(`/merchants/${part(id)}/share`, { sharePercent: wholeNumber('--percent', percent) }),
    show: () => 'Set.',
  },
  {
    name: 'merchant secret',
    help: "Replaces a merchant's signing secret; the old ones also sign during the overlap. The new one is shown only once.",
    subject: 'MERCHANT_ID',
    options: { 'overlap-s': 'seconds for which the old secrets stay valid at most (86400)' },
    call: (values, id) => post(`/merchants/${part(id)}/secret`, { overlapS: wholeNumber('--overlap-s', values['overlap-s']) }),
    show: fields('secret', 'oldSecretEndsAt'),
  },
  {
    name: 'user create',
    help: 'Invites a user and shows the one-time link for them; without --email the link is for the first operator, who enters it (1 h).',
    options: {
      email: 'e-mail with which they sign in',
      name: 'their name',
      role: 'operator, merchant or viewer (operator)',
      merchant: 'id of their merchant; a viewer without one sees all',
    },
    call({ email, name, role = 'operator', merchant }) {
      if (email === undefined) {
        if (name ?? merchant) throw new UsageError('--email is missing.');
        return post('/users/first-operator');
      }
      const allMerchants = role === 'viewer' && merchant === undefined ? true : undefined;
      return post('/users', { email, name: name ?? email, role, merchantId: merchant, allMerchants });
    },
    show: fields('link', 'linkExpiresAt'),
  },
  {
    name: 'user reset',
    help: 'Shows a one-time link with which a user sets a new password, or signs in for the first time. One-time codes stay on.',
    subject: 'EMAIL_OR_ID',
    call: (_values, id) => post(`/users/${part(id)}/link`),
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
    help: 'Lists users, at most 200; --after continues after an e-mail.',
    options: { ...merchantOption, after: 'the last e-mail of the previous list' },
    call: ({ merchant, after }) => get('/users', { merchantId: merchant, cursor: after, limit: '200' }),
    show: table('users', 'id', 'email', 'name', 'role', 'merchantName', 'hasTotp', 'state'),
  },
  {
    name: 'key create',
    help: 'Creates an API key. The key is shown only once.',
    options: {
      'merchant!': 'id of the merchant',
      'name!': 'what the key is for',
      'modules!': 'modules that it opens, of POS, QR and Fiscal, separated by commas',
      expires: 'when it expires, for example 2027-01-31T00:00:00Z; absent: never',
    },
    call: ({ merchant, name, modules = '', expires }) =>
      post('/keys', { merchantId: merchant, name, modules: modules.split(',').map((module) => module.trim()), expiresAt: expires }),
    show: fields('id', 'key', 'expiresAt'),
  },
  {
    name: 'key list',
    help: 'Lists API keys, without the keys themselves.',
    options: merchantOption,
    call: ({ merchant }) => get('/keys', { merchantId: merchant }),
    show: table('keys', 'id', 'merchantId', 'name', 'modules', 'state', 'expiresAt', 'lastUsedAt'),
  },
  {
    name: 'key revoke',
    help: 'Revokes a key at once.',
    subject: 'KEY_ID',
    call: (_values, id) => post(`/keys/${part(id)}/revoke`),
    show: fields('revokedAt'),
  },
  {
    name: 'key rotate',
    help: 'Replaces a key; the old one stays valid for the overlap. The new key is shown only once.',
    subject: 'KEY_ID',
    options: { 'overlap-s': 'seconds for which the old key stays valid (86400)' },
    call: (values, id) => post(`/keys/${part(id)}/rotate`, { overlapS: wholeNumber('--overlap-s', values['overlap-s']) }),
    show: fields('id', 'key', 'expiresAt', 'oldKeyEndsAt'),
  },
  {
    name: 'device create',
    help: 'Registers a device and shows its pairing code.',
    options: {
      'merchant!': 'id of the merchant',
      'kind!': 'terminal or register',
      'name!': 'name of the device',
      bank: 'code of the bank, for a terminal',
      'pos-code': 'point-of-sale code',
      id: 'its UUID, if it already has one',
    },
    call: ({ merchant, kind, name, bank, id, ...rest }) =>
      post('/devices', { id, merchantId: merchant, kind, name, bank, pointOfSalesCode: rest['pos-code'] }),
    show: fields('id', 'pairingCode', 'pairingExpiresAt'),
  },
  {
    name: 'device list',
    help: 'Lists devices.',
    options: merchantOption,
    call: ({ merchant }) => get('/devices', { merchantId: merchant }),
    show: table('devices', 'id', 'kind', 'name', 'bank', 'state', 'liveOn', 'lastSeenAt'),
  },
  {
    name: 'device rename',
    help: 'Renames a device.',
    subject: 'DEVICE_ID',
    options: { 'name!': 'the new name' },
    call: ({ name }, id) => post(`/devices/${part(id)}/rename`, { name }),
    show: () => 'Renamed.',
  },
  {
    name: 'device disable',
    help: 'Disables a device: it can neither log in nor be reached.',
    subject: 'DEVICE_ID',
    call: (_values, id) => post(`/devices/${part(id)}/disable`),
    show: () => 'Disabled.',
  },
  {
    name: 'device hardware-lost',
    help: 'Declares lost the hardware that was connected as this device before: decisions wait for its confirmation no longer.',
    subject: 'DEVICE_ID',
    options: { 'reason!': 'reason, stored in the audit log' },
    call: ({ reason }, id) => post(`/devices/${part(id)}/hardware-lost`, { reason }),
    show: fields('released', 'isConnected', 'lastSeenAt'),
  },
  {
    name: 'device enable',
    help: 'Enables a disabled device; its secret is valid again.',
    subject: 'DEVICE_ID',
    call: (_values, id) => post(`/devices/${part(id)}/enable`),
    show: () => 'Enabled.',
  },
  {
    name: 'device secret',
    help: 'Gives a device a new secret, shown only once; the old one becomes invalid.',
    subject: 'DEVICE_ID',
    call: (_values, id) => post(`/devices/${part(id)}/secret`),
    show: fields('secret'),
  },
  {
    name: 'device pairing-code',
    help: 'Shows a new pairing code for a device; an older one becomes invalid.',
    subject: 'DEVICE_ID',
    call: (_values, id) => post(`/devices/${part(id)}/pairing`),
    show: fields('pairingCode', 'pairingExpiresAt'),
  },
  {
    name: 'device messages',
    help: 'Shows dropped messages of a device: the field and the reason. Only of the instance that answers, since its start.',
    subject: 'DEVICE_ID',
    call: (_values, id) => get(`/devices/${part(id)}/messages`),
    show: (body) => ((body['dropped'] as Body[]).length === 0 ? 'Nothing was dropped.' : droppedTable(body)),
    follow: { fresh: newDrops, line: dropLine },
  },
  ...everydayCalls,
];

const droppedTable = table('dropped', 'lastAt', 'channel', 'reason', 'field', 'count', 'why');

/** The kinds with more drops than before, oldest first. */
function newDrops(body: Body, before: Body): Body[] {
  const known = new Map((before['dropped'] as Body[]).map((drop) => [keyOf(drop), drop['count']]));
  return (body['dropped'] as Body[]).filter((drop) => drop['count'] !== known.get(keyOf(drop))).reverse();
}

function dropLine({ lastAt, channel, reason, field, why, count }: Body): string {
  const named = field === undefined ? [] : [`${plain(field)}:`];
  return [lastAt, channel, reason, ...named, why, `(${plain(count)})`].map(plain).join(' ');
}

const keyOf = ({ channel, reason, field, why }: Body) => [channel, reason, field, why].join(' ');
