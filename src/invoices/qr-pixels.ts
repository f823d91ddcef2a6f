// The pixels of a QR as PNG keeps them: a zlib stream, written here with the little that such a picture needs of it. A row of modules is six
// lines that are the same: one line in Huffman codes, and "five more like it". The codes are made for eight kinds of bytes, once, when this
// file is loaded. Node's zlib allocates a quarter of a megabyte for each picture and takes three times as long as all the rest of a Create.
//
// Always holds: what comes out is what any inflater takes, for symbols of `sideModules` a side; others are refused.

export const pixelsPerModule = 6;
/** The symbol of 44 characters has 33 modules a side (version 4); four of white go around it on each side, as the standard asks. */
export const quietModules = 4;
export const sideModules = 33 + 2 * quietModules;
export const sidePixels = sideModules * pixelsPerModule;

/** A filter byte (none), then one bit a pixel, 1 for white. */
const lineBytes = 1 + Math.ceil(sidePixels / 8);
/** Modules that fill whole bytes together: 24 pixels in three bytes. A line has ten such groups, and the last module by itself. */
const groupModules = 4;
const groups = Math.floor(sideModules / groupModules);

/** How many bits the code of each byte has, by how often it comes: half of all are white. Together with the two below they fill the tree. */
const bitsOfByte: Readonly<Record<number, number>> = { 0xff: 1, 0x00: 3, 0x03: 4, 0x3f: 4, 0xf0: 4, 0xfc: 4, 0xc0: 5, 0x0f: 5 };
/** "131 to 162 bytes more": five extra bits say how many. */
const repeatSymbol = 281;
const endSymbol = 256;
const bitsOfSymbol: Readonly<Record<number, number>> = { ...bitsOfByte, [endSymbol]: 5, [repeatSymbol]: 5 };
const symbolCount = repeatSymbol + 1;
/** "From 25 to 32 bytes before": three extra bits say where. The only distance there is, so its code is one bit. */
const distanceSymbol = 9;

interface Bits {
  /** The first to be written is the lowest. */
  value: number;
  count: number;
}

function joined(...parts: Bits[]): Bits {
  return parts.reduce((all, { value, count }) => ({ value: all.value | (value << all.count), count: all.count + count }));
}

/** The codes of RFC 1951 for these lengths: in order of length, then of symbol; written with the highest bit first. */
function codesOf(lengths: Readonly<Record<number, number>>): Map<number, Bits> {
  const symbols = Object.entries(lengths)
    .map(([symbol, count]) => ({ symbol: Number(symbol), count }))
    .sort((a, b) => a.count - b.count || a.symbol - b.symbol);
  const codes = new Map<number, Bits>();
  let next = 0;
  let before = symbols[0]?.count ?? 0;
  for (const { symbol, count } of symbols) {
    next <<= count - before;
    before = count;
    codes.set(symbol, { value: reversed(next, count), count });
    next += 1;
  }
  return codes;
}

function reversed(code: number, count: number): number {
  let turned = 0;
  for (let bit = 0; bit < count; bit += 1) turned |= ((code >> bit) & 1) << (count - 1 - bit);
  return turned;
}

const codes = codesOf(bitsOfSymbol);
const codeOf = (symbol: number): Bits => codes.get(symbol) as Bits;

/** What the block says of its codes before it uses them: their lengths, by codes of lengths; 18 stands for 11 to 138 that are not used. */
const runOfUnused = 18;
const minRun = 11;
const maxRun = 138;

function lengthsAsBits(): Bits[] {
  const lengths = [...Array.from({ length: symbolCount }, (_, symbol) => bitsOfSymbol[symbol] ?? 0), ...Array(distanceSymbol).fill(0), 1];
  const lengthCodes = codesOf({ 0: 2, 1: 3, 3: 3, 4: 2, 5: 3, [runOfUnused]: 3 });
  const order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1];
  const out: Bits[] = [
    { value: symbolCount - 257, count: 5 },
    { value: distanceSymbol, count: 5 },
    { value: order.length - 4, count: 4 },
    ...order.map((symbol) => ({ value: lengthCodes.get(symbol)?.count ?? 0, count: 3 })),
  ];
  for (let at = 0; at < lengths.length; ) {
    const used = lengths.findIndex((length, place) => place >= at && length !== 0);
    const run = Math.min(used - at, maxRun);
    if (run >= minRun) out.push(lengthCodes.get(runOfUnused) as Bits, { value: run - minRun, count: 7 });
    else out.push(lengthCodes.get(lengths[at] as number) as Bits);
    at += Math.max(1, run >= minRun ? run : 1);
  }
  return out;
}

/** The last block and the only one; its codes are its own. */
const blockHead: Bits[] = [{ value: 1, count: 1 }, { value: 2, count: 2 }, ...lengthsAsBits()];
const lineHead = codeOf(0x00);
/** The last module is white, and so are the two bits that fill its byte; then the line five times more. */
const lineEnd = joined(codeOf(0xff), codeOf(repeatSymbol), { value: 5 * lineBytes - 131, count: 5 });
const fromTheLineBefore = joined({ value: 0, count: 1 }, { value: lineBytes - 25, count: 3 });

/** By the colours of four modules as four bits, the leftmost highest: their codes, and what they add to the checksum. */
const groupsByColours = Array.from({ length: 1 << groupModules }, (_, colours) => {
  const pixels = [8, 4, 2, 1].map((module) => (colours & module ? '000000' : '111111')).join('');
  const bytes = [0, 8, 16].map((at) => Number.parseInt(pixels.slice(at, at + 8), 2));
  const [first = 0, second = 0, third = 0] = bytes;
  return { ...joined(...bytes.map(codeOf)), sum: first + second + third, late: second + 2 * third };
});

const longest = 1024;
const adlerModulus = 65_521;

/** `modules`: a row each from the top, true for black, with the white around them. */
export function zlibPixels(modules: readonly (readonly boolean[])[]): Buffer {
  if (modules.length !== sideModules) throw new Error(`A QR of ${modules.length} modules a side was not expected.`);
  const out = Buffer.allocUnsafe(longest);
  out.writeUInt16BE(0x7801, 0);
  let length = 2;
  let pending = 0;
  let pendingCount = 0;
  // At most seven bits wait, so that sixteen more have room.
  const write = ({ value, count }: Bits): void => {
    pending |= value << pendingCount;
    for (pendingCount += count; pendingCount >= 8; pendingCount -= 8) {
      out[length] = pending & 0xff;
      length += 1;
      pending >>>= 8;
    }
  };

  for (const bits of blockHead) write(bits);
  let sums = 1;
  let sumsOfSums = 0;
  for (const row of modules) {
    write(lineHead);
    let lineSum = 0xff;
    let weighted = 0xff;
    for (let group = 0; group < groups; group += 1) {
      const x = group * groupModules;
      const colours = (row[x] ? 8 : 0) | (row[x + 1] ? 4 : 0) | (row[x + 2] ? 2 : 0) | (row[x + 3] ? 1 : 0);
      const made = groupsByColours[colours] as (typeof groupsByColours)[number];
      write(made);
      lineSum += made.sum;
      // Each byte counts as often as there are bytes from it to the end of the line.
      weighted += (lineBytes - 1 - group * 3) * made.sum - made.late;
    }
    write(lineEnd);
    write(fromTheLineBefore);
    for (let line = 0; line < pixelsPerModule; line += 1) {
      sumsOfSums += lineBytes * sums + weighted;
      sums += lineSum;
    }
    sums %= adlerModulus;
    sumsOfSums %= adlerModulus;
  }
  write(codeOf(endSymbol));
  write({ value: 0, count: 7 });
  out.writeUInt16BE(sumsOfSums, length);
  out.writeUInt16BE(sums, length + 2);
  return out.subarray(0, length + 4);
}
