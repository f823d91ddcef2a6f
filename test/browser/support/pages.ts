// Every page of the cabinet: its name in the navigation and in its heading, and its address. The Playground is the sandbox's alone.

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
