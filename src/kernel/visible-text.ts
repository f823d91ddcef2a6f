// Text from outside on a terminal: characters that could move the cursor, run an escape sequence, turn the direction of what is read or make
// a text look like another one are shown as \u and their number [D289]. Line feed and tab stay. In a JSON text the result is the same string,
// escaped.

/** C0 without tab and line feed, DEL and C1; separators of lines; formats and others without a width, among them marks of direction. */
const unsafe = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;
/** Such a character in a line of JSON, itself or escaped. */
const unsafeInJson = /\\(?:u00[01]|[bfr])|[\x7f-\x9f\u2028\u2029\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

const numberOfUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
const numberOf = (character: string) => character.split('').map(numberOfUnit).join('');

export function visibleText(text: string): string {
  return text.replace(unsafe, numberOf);
}

/** A value inside a line: with a line feed of its own it could pretend to be another line. */
export function visibleLine(text: string): string {
  return visibleText(text).replace(/[\n\t]/g, numberOf);
}

/** A line of JSON whose strings are visible text for those, too, who print them decoded. */
export function visibleJson(line: string): string {
  if (!unsafeInJson.test(line)) return line;
  return line
    .replace(/\\(?:(u00[01][\da-f]|[bfr])|.)/gi, (escape, isUnsafe) => (isUnsafe === undefined ? escape : `\\${escape}`))
    .replace(unsafe, (character) => numberOf(character).replaceAll('\\', '\\\\'));
}
