// Every page of the cabinet: its name in the navigation and heading, and its path. The Playground exists in the sandbox only.

export const pages = [
  ['Overview', '/overview'],
  ['Payments', '/payments'],
  ['Fiscal operations', '/fiscal'],
  ['Invoices', '/invoices'],
  ['Devices', '/devices'],
  ['Callbacks', '/callbacks'],
  ['Attention', '/attention'],
  ['Day close', '/day-close'],
  ['Keys', '/keys'],
  ['Merchants', '/merchants'],
  ['Users', '/users'],
  ['Audit log', '/audit'],
  ['Gateways', '/instances'],
  ['Playground', '/playground'],
  ['Developers', '/developers'],
] as const;
