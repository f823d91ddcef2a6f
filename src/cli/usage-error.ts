// Wrong usage of a command: the message explains it, and the exit code is 2.
export class UsageError extends Error {}
