// The planted bugs of the rules, which exploration alone must find (`npm run planted-rules`).
import { handBugs } from './hand-bugs.ts';
import { mutantBugs } from './mutant-bugs.ts';

export const ruleBugs = [...handBugs, ...mutantBugs];
