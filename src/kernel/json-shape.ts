// One linear pass over a JSON text before it is parsed, against hostile input: the parser accepts half a million levels, and a recursive
// walk over them overflows the stack. The syntax is checked by the parser, not here.

export interface ShapeCaps {
  deepest?: number;
  maxValues?: number;
  /** Characters. */
  maxNumberLength?: number;
}

export interface Shape {
  /** Values, containers included; counted up to the first broken cap. */
  values: number;
  /** The first cap that the text exceeds. */
  broken?: keyof ShapeCaps;
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

const kind = { other: 0, number: 1, quote: 2, comma: 3, open: 4, close: 5 } as const;

/** The kind of every byte outside strings. All are ASCII, so no byte of a multi-byte UTF-8 sequence is mistaken for one. */
const kinds = new Uint8Array(256);
for (const [characters, of] of [
  ['0123456789.-+eE', kind.number],
  ['"', kind.quote],
  [',', kind.comma],
  ['{[', kind.open],
  ['}]', kind.close],
] as const) {
  for (const character of characters) kinds[character.charCodeAt(0)] = of;
}

/** The position of the closing quote of the string that begins at `at`; after the end if there is none. */
function endOfText(json: Uint8Array, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== quote) end += json[end] === backslash ? 2 : 1;
  return end;
}

function endOfTextIn(json: string, at: number): number {
  let end = at + 1;
  while (end < json.length && json.charCodeAt(end) !== quote) end += json.charCodeAt(end) === backslash ? 2 : 1;
  return end;
}

export function measureShape(json: Uint8Array, caps: ShapeCaps): Shape {
  const { deepest = Infinity, maxValues = Infinity, maxNumberLength = Infinity } = caps;
  let depth = 0;
  let values = 1;
  let numberLength = 0;
  for (let at = 0; at < json.length; at += 1) {
    const of = kinds[json[at] ?? 0];
    if (of === kind.number) {
      numberLength += 1;
      if (numberLength > maxNumberLength) return { values, broken: 'maxNumberLength' };
      continue;
    }
    numberLength = 0;
    if (of === kind.quote) at = endOfText(json, at);
    else if (of === kind.comma) values += 1;
    else if (of === kind.open) {
      depth += 1;
      values += 1;
      if (depth > deepest) return { values, broken: 'deepest' };
    } else if (of === kind.close) depth -= 1;
    if (values > maxValues) return { values, broken: 'maxValues' };
  }
  return { values };
}

export interface NumberPlace {
  start: number;
  /** After its last character. */
  end: number;
  /** The value of a field of the outermost object. */
  isOutermost: boolean;
}

/** The numbers outside strings, in order. */
export function* numbersIn(json: string): Generator<NumberPlace> {
  let depth = 0;
  let isField = false;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    const of = kinds[unit];
    if (of === kind.number) {
      const start = at;
      while (kinds[json.charCodeAt(at + 1)] === kind.number) at += 1;
      yield { start, end: at + 1, isOutermost: isField && depth === 1 };
    } else if (of === kind.quote) at = endOfTextIn(json, at);
    else if (of === kind.open) depth += 1;
    else if (of === kind.close) depth -= 1;
    isField = unit === colon || (isField && isBlank(unit));
  }
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d;
}

/**
 * A name that an object of a valid JSON text has twice, or undefined. The parser silently keeps the last one, and the sender may have meant
 * the first.
 */
export function repeatedName(text: string): string | undefined {
  const open: Set<string>[] = [];
  let nameStart = 0;
  let nameEnd = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === quote) {
      nameStart = at;
      at = endOfTextIn(text, at);
      nameEnd = at;
    } else if (unit === 0x7b) {
      open.push(new Set());
    } else if (unit === 0x7d) {
      open.pop();
    } else if (unit === colon) {
      const written = text.slice(nameStart, nameEnd + 1);
      const name = written.includes('\\') ? (JSON.parse(written) as string) : written.slice(1, -1);
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}
