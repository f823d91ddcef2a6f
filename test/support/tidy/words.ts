// Words that docs/glossary.md and CONTRIBUTING.md discourage: each has a concrete noun or an established term in its place.
import type { Files } from './rules.ts';

/** What to write instead. */
export const discouraged: Readonly<Record<string, string>> = {
  whoever: 'the caller, the device, the operator',
  whomever: 'the caller, the device, the operator',
  told: 'answered, notified, reported',
  heard: 'received',
  hears: 'receives',
  befalls: 'fault',
  befell: 'fault',
  somebody: 'a caller, a person, a user',
  nobody: 'no caller, no person, no user',
  anybody: 'every caller',
  everybody: 'all callers',
  he: 'a noun',
  him: 'a noun',
  his: 'a noun',
  himself: 'a noun',
  stranger: 'unauthenticated client, anonymous caller',
  strangers: 'unauthenticated clients, anonymous callers',
  newcomer: 'unauthenticated connection, new user',
  newcomers: 'unauthenticated connections, new users',
  deed: 'operation',
  deeds: 'operations',
  hasty: 'early',
};

const anyOfThem = new RegExp(`\\b(?:${Object.keys(discouraged).join('|')})\\b`, 'gi');

/** Names, comments and texts of whole files. */
export function findDiscouragedWords(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, at) => [...line.matchAll(anyOfThem)].map(([word]) => finding(path, at + 1, word))),
  );
}

/** `it('...')`, `describe('...')`, `it.each([...])('...')`. */
const titles = /(?:\b(?:it|describe|test)(?:\.\w+)*\(|^\s*\](?: as const)?\)\(|\]\)\()\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/gm;

/** Titles of tests alone: what a test plays may speak as people do. */
export function findDiscouragedTitles(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    [...text.matchAll(titles)].flatMap((match) => {
      const line = text.slice(0, match.index).split('\n').length;
      return [...(match[2] ?? '').matchAll(anyOfThem)].map(([word]) => finding(path, line, word));
    }),
  );
}

function finding(path: string, line: number, word: string): string {
  return `${path}:${line} has "${word}": ${discouraged[word.toLowerCase()]}`;
}
