/** The program cannot start, and a person can fix it: the message says what is wrong and what to do, so no stack is shown. */
export class StartRefused extends Error {}
