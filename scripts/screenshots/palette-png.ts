// A PNG with at most 256 colours: a page has few important ones, and a picture in a repository should be small.
// The most frequent colours are kept as they are; every other becomes the nearest of them.
import { crc32, deflateSync } from 'node:zlib';
import { PNG } from 'pngjs';

const maxColours = 256;
/** Colours within this of a kept one are not kept beside it. */
const nearEnough = 6;

type Colour = [red: number, green: number, blue: number];

const parts = (packed: number): Colour => [packed >> 16, (packed >> 8) & 255, packed & 255];

function distance([red, green, blue]: Colour, [otherRed, otherGreen, otherBlue]: Colour): number {
  return Math.abs(red - otherRed) + Math.abs(green - otherGreen) + Math.abs(blue - otherBlue);
}

function choosePalette(counts: ReadonlyMap<number, number>): Colour[] {
  const palette: Colour[] = [];
  for (const [packed] of [...counts].sort(([, one], [, other]) => other - one)) {
    const colour = parts(packed);
    if (palette.length < 32 || palette.every((kept) => distance(kept, colour) > nearEnough)) palette.push(colour);
    if (palette.length === maxColours) break;
  }
  return palette;
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}

export function palettePng(source: Buffer): Buffer {
  const { width, height, data } = PNG.sync.read(source);
  const packed = new Uint32Array(width * height);
  const counts = new Map<number, number>();
  for (let at = 0; at < packed.length; at += 1) {
    const colour = ((data[4 * at] ?? 0) << 16) | ((data[4 * at + 1] ?? 0) << 8) | (data[4 * at + 2] ?? 0);
    packed[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = choosePalette(counts);
  const nearest = new Map<number, number>();
  for (const colour of counts.keys()) {
    const wanted = parts(colour);
    let best = 0;
    for (const [index, kept] of palette.entries()) {
      if (distance(kept, wanted) < distance(palette[best] ?? kept, wanted)) best = index;
    }
    nearest.set(colour, best);
  }
  // Each line begins with its filter, which is none: palettes gain nothing by one.
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) lines[y * (width + 1) + 1 + x] = nearest.get(packed[y * width + x] ?? 0) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flat())),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}
