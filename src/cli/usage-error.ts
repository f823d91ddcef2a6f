// A command that was typed wrongly: the message says how, and the exit code is 2.
export class UsageError extends Error {}
