// Text from outside on a terminal: characters that could move the cursor, run an escape sequence or turn the direction of what is read are
// shown as \u and their number [D289]. Line feed and tab stay. In a JSON text the result is the same string, escaped.

/** C0 without tab and line feed, DEL and C1; marks of direction; separators of lines; invisible formats. */
const unsafe = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
/** Such a character in a line of JSON, itself or escaped. */
const unsafeInJson = /\\(?:u00[01]|[bfr])|[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

const numberOf = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

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
    .replace(unsafe, (character) => `\\${numberOf(character)}`);
}
