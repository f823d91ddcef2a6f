// Finds card numbers (PANs) in a text [D161]: by issuer prefix, length and Luhn check, in sequences of digits that are delimited by other
// characters. They may be grouped as printed on cards, stand beside other numbers, or be followed directly by an expiry date. A UUID has none.
// Invariant: the time is linear in the length of the text.

/** Range of the first four digits, and range of the number of digits. */
const issuers: readonly [from: number, to: number, fewest: number, most: number][] = [
  [4000, 4999, 16, 19], // Visa
  [4000, 4999, 13, 13], // old Visa numbers, as long as a barcode [D193]
  [5100, 5599, 16, 16], // Mastercard
  [2221, 2720, 16, 16], // Mastercard
  [5000, 5099, 16, 19], // Maestro
  [5600, 5899, 16, 19], // Maestro
  [6000, 6999, 16, 19], // Maestro, Discover, UnionPay, RuPay
  [3400, 3499, 15, 15], // American Express
  [3700, 3799, 15, 15], // American Express
  [3000, 3059, 14, 19], // Diners Club
  [3095, 3095, 14, 19], // Diners Club
  [3600, 3699, 14, 19], // Diners Club
  [3800, 3999, 14, 19], // Diners Club
  [3528, 3589, 16, 19], // JCB
  [2200, 2204, 16, 19], // Mir
  [8100, 8299, 16, 19], // UnionPay, RuPay
  [8600, 8600, 16, 16], // Uzcard
  [9112, 9112, 16, 16], // Belkart
  [9792, 9792, 16, 16], // Troy
  [9860, 9860, 16, 16], // Humo
];
const prefixLength = 4;

/** For each prefix, a bit mask of the lengths of its cards. */
const lengthsByPrefix = new Uint32Array(10 ** prefixLength);
for (const [from, to, fewest, most] of issuers) {
  let lengths = 0;
  for (let length = fewest; length <= most; length += 1) lengths |= 1 << length;
  for (let prefix = from; prefix <= to; prefix += 1) lengthsByPrefix[prefix] = (lengthsByPrefix[prefix] ?? 0) | lengths;
}

const fewestDigits = 13;
const barcodeDigits = 13;
const mostDigits = 19;
const shownInFront = 6;
const shownBehind = 4;
/** Two blanks, or a blank, a dash and a blank. */
const maxSeparators = 3;

/** Blanks, dots and dashes of all kinds. JSON escapes none of them. */
const separator = /[ .\-_\u00a0\u2000-\u200b\u2010-\u2015\u202f\u205f\u2212\u3000]/;

function isSeparator(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit === 0x20 || unit === 0x2e || (unit !== 0x22 && separator.test(text.charAt(at)));
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Adjacent digits; `from` and `to` are indexes of digits in the run. */
interface Group {
  from: number;
  to: number;
}

/** Groups with only a few separators between them. */
interface Run {
  digits: Uint8Array;
  /** The position of each digit in the text. */
  places: Uint32Array;
  groups: Group[];
}

/** The number of digits of the run that begins here, and the position after its last one. */
function measureRun(text: string, start: number): { count: number; end: number } {
  let count = 0;
  let end = start;
  let at = start;
  while (at < text.length && at - end <= maxSeparators) {
    if (isDigit(text.charCodeAt(at))) {
      count += 1;
      end = at + 1;
    } else if (!isSeparator(text, at)) break;
    at += 1;
  }
  return { count, end };
}

function readRun(text: string, start: number, count: number): Run {
  const digits = new Uint8Array(count);
  const places = new Uint32Array(count);
  const groups: Group[] = [];
  let at = start;
  for (let read = 0; read < count; read += 1, at += 1) {
    if (read === 0 || !isDigit(text.charCodeAt(at))) {
      while (!isDigit(text.charCodeAt(at))) at += 1;
      groups.push({ from: read, to: read });
    }
    digits[read] = text.charCodeAt(at) - 0x30;
    places[read] = at;
    const group = groups.at(-1);
    if (group) group.to = read + 1;
  }
  return { digits, places, groups };
}

/** The runs that have enough digits for a card number. */
function* runsIn(text: string): Generator<Run> {
  for (let at = 0; at < text.length; at += 1) {
    if (!isDigit(text.charCodeAt(at))) continue;
    const { count, end } = measureRun(text, at);
    if (count >= fewestDigits) yield readRun(text, at, count);
    at = end;
  }
}

/** False: no card number is found in any text or number of this JSON. */
export function mayHoldCardNumber(json: string): boolean {
  // Many runs of 13 digits are times in milliseconds.
  return runsIn(json).some(({ digits }) => digits.length > barcodeDigits || digits[0] === 4);
}

/** Whether the digits from `from` up to, not including, `to` are a card number. */
function isCardNumber({ digits }: Run, from: number, to: number): boolean {
  const length = to - from;
  if (length < fewestDigits || length > mostDigits) return false;
  let prefix = 0;
  for (let place = from; place < from + prefixLength; place += 1) prefix = prefix * 10 + (digits[place] ?? 0);
  if ((((lengthsByPrefix[prefix] ?? 0) >> length) & 1) === 0) return false;
  let sum = 0;
  for (let place = from; place < to; place += 1) {
    const digit = digits[place] ?? 0;
    sum += (to - place) % 2 === 1 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0 && !(length === barcodeDigits && isBarcode(digits, from));
}

/** Whether 13 digits have a valid EAN-13 check digit. One in ten old Visa numbers has one too and counts as a barcode. */
function isBarcode(digits: Uint8Array, from: number): boolean {
  let sum = 0;
  for (let place = 0; place < barcodeDigits; place += 1) sum += (digits[from + place] ?? 0) * (place % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
}

/** MMYY, YYMM, MMYYYY or YYYYMM, of the years 2020 to 2049. */
const expiryDate = /^(?:(?:0[1-9]|1[0-2])(?:20)?[2-4]\d|(?:20)?[2-4]\d(?:0[1-9]|1[0-2]))$/;

/** The end of a card number that starts with the group and is the whole group, or all of it before an expiry date; or undefined. */
function endInGroup(run: Run, { from, to }: Group): number | undefined {
  if (isCardNumber(run, from, to)) return to;
  return [to - 4, to - 6].find((end) => isCardNumber(run, from, end) && expiryDate.test(run.digits.slice(end, to).join('')));
}

const sizeOf = (group: Group | undefined) => (group === undefined ? 0 : group.to - group.from);

/**
 * The end of the longest card number that starts with the group and continues in the next ones, as printed on cards: 4-4-4-4 and longer,
 * 4-6-5, 4-6-4 or 4-3-3-3.
 */
function endInGroups(run: Run, first: number): number | undefined {
  const { groups } = run;
  const from = groups[first]?.from ?? 0;
  if (sizeOf(groups[first]) !== 4) return undefined;
  const third = groups[first + 2]?.to ?? 0;
  if (sizeOf(groups[first + 1]) === 6 && isCardNumber(run, from, third)) return third;
  const fourth = groups[first + 3]?.to ?? 0;
  if ([1, 2, 3].every((offset) => sizeOf(groups[first + offset]) === 3) && isCardNumber(run, from, fourth)) return fourth;
  let end: number | undefined;
  for (let place = first + 1; place < groups.length; place += 1) {
    const group = groups[place];
    if (group === undefined || sizeOf(group) > 4 || group.to - from > mostDigits) break;
    if (isCardNumber(run, from, group.to)) end = group.to;
    if (sizeOf(group) < 4) break;
  }
  return end;
}

const trackTwo = /[=D]\d{7,}/y;

/** The length of the track data after a card number (expiry date, service code, discretionary data), which must not be stored. */
function trackTwoLength(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit !== 0x3d && unit !== 0x44) return 0;
  trackTwo.lastIndex = at;
  return trackTwo.exec(text)?.[0].length ?? 0;
}

/** The start of a card number at the end of the group: in track data, other digits, such as a length, may directly precede it. */
function startAtEnd(run: Run, { from, to }: Group): number | undefined {
  for (let start = Math.max(from, to - mostDigits); start <= to - fewestDigits; start += 1) if (isCardNumber(run, start, to)) return start;
  return undefined;
}

const uuid = /\b[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}\b/iy;

/** Whether the group at `at` is the end of a UUID's first group or is its second group: only these may continue as a card number. */
function isInUuid(text: string, at: number): boolean {
  return [4, 9].some((offset) => {
    uuid.lastIndex = at - offset;
    return at >= offset && uuid.test(text);
  });
}

/** Masks all but the first six and the last four digits of each card number, and all track data after one. */
export function maskCardNumbers(text: string): string {
  let masked = '';
  let copied = 0;
  function hide(place: number): void {
    // Already masked as part of an overlapping number.
    if (place < copied) return;
    masked += `${text.slice(copied, place)}*`;
    copied = place + 1;
  }
  for (const run of runsIn(text)) {
    const placeOf = (digit: number) => run.places[digit] ?? 0;
    for (const [place, group] of run.groups.entries()) {
      if (sizeOf(group) !== 4 && sizeOf(group) < fewestDigits) continue;
      const behind = placeOf(group.to - 1) + 1;
      const trackLength = trackTwoLength(text, behind);
      const start = trackLength === 0 ? undefined : startAtEnd(run, group);
      const end = start === undefined ? Math.max(endInGroup(run, group) ?? 0, endInGroups(run, place) ?? 0) : group.to;
      if (start === undefined && end > 0 && isInUuid(text, placeOf(group.from))) continue;
      for (let digit = (start ?? group.from) + shownInFront; digit < end - shownBehind; digit += 1) hide(placeOf(digit));
      if (start !== undefined) for (let at = behind + 1; at < behind + trackLength; at += 1) hide(at);
    }
  }
  return copied === 0 ? text : masked + text.slice(copied);
}
