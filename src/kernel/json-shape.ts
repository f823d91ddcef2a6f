// One pass over a JSON text before anything is built from it, so that a hostile one costs no more than its length: the parser would take
// half a million levels, and whoever walks through them afterwards runs out of stack. It judges no syntax; the parser does.

export interface ShapeCaps {
  deepest: number;
  maxValues?: number;
  /** Characters. */
  maxNumberLength?: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/** A digit, a sign, a point or an e: what a number outside texts is written with. */
function isPartOfNumber(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || unit === 0x2e || unit === 0x2d || unit === 0x2b || unit === 0x65 || unit === 0x45;
}

/** The first cap that the text goes beyond, or undefined. */
export function brokenCap(text: string, caps: ShapeCaps): keyof ShapeCaps | undefined {
  const { deepest, maxValues = Infinity, maxNumberLength = Infinity } = caps;
  let depth = 0;
  let values = 1;
  let inText = false;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (inText) {
      if (unit === backslash) at += 1;
      else if (unit === quote) inText = false;
      continue;
    }
    digits = isPartOfNumber(unit) ? digits + 1 : 0;
    if (digits > maxNumberLength) return 'maxNumberLength';
    if (unit === quote) {
      inText = true;
    } else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      values += 1;
      if (depth > deepest) return 'deepest';
    } else if (unit === 0x7d || unit === 0x5d) {
      depth -= 1;
    } else if (unit === comma) {
      values += 1;
    }
    if (values > maxValues) return 'maxValues';
  }
  return undefined;
}

const colon = 0x3a;

/**
 * A name that one object of a valid JSON text has twice, or undefined. The parser keeps the last of the two without a word, and the sender
 * may have meant the first.
 */
export function repeatedName(text: string): string | undefined {
  const open: Set<string>[] = [];
  let nameStart = 0;
  let nameEnd = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === quote) {
      nameStart = at;
      at += 1;
      while (text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
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
