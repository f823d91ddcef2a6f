// Which money core the rooms are built on [D300]: the old one, until the switch. Only the tests choose the new one
// (test/support/new-core-program.mjs); there is no setting for it, because two cores never write one database.
export const choice: { core: 'old' | 'new' } = { core: 'old' };
