import { inflateSync } from 'node:zlib';
import fc from 'fast-check';
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import { encodeQR } from 'qr';
import { describe, expect, it } from 'vitest';
import { qrPng, qrSvg } from '../../src/invoices/qr-picture.ts';
import { zlibPixels } from '../../src/invoices/qr-pixels.ts';
import { drawQr } from '../../src/invoices/qr-text.ts';
import { seededRandom } from '../support/seeded-random.ts';

const secret = Buffer.alloc(32, 7);
const texts = Array.from({ length: 25 }, (_, seed) => drawQr(seededRandom(seed), secret).qr);

/** The decoder's export differs between module systems. */
const decode = ((jsQR as unknown as { default?: typeof jsQR }).default ?? jsQR) as unknown as (
  data: Uint8ClampedArray,
  width: number,
  height: number,
) => { data: string } | null;

/** Paints the runs of the path by hand, one pixel a module, as a renderer would. */
function paint(svg: string, scale: number): { data: Uint8ClampedArray; size: number } {
  const modules = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
  const size = modules * scale;
  const data = new Uint8ClampedArray(size * size * 4).fill(255);
  const path = /<path d="([^"]+)"/.exec(svg)?.[1] ?? '';
  for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let row = Number(y) * scale; row < (Number(y) + 1) * scale; row += 1) {
      for (let column = Number(x) * scale; column < (Number(x) + Number(length)) * scale; column += 1) {
        data.fill(0, (row * size + column) * 4, (row * size + column) * 4 + 3);
      }
    }
  }
  return { data, size };
}

describe('the picture of a QR', () => {
  it.each(texts)('as PNG is read back by a decoder: %s', (text) => {
    const png = PNG.sync.read(qrPng(text), { checkCRC: true });
    expect(png.width).toBe(png.height);
    expect(decode(new Uint8ClampedArray(png.data), png.width, png.height)?.data).toBe(text);
  });

  it.each(texts.slice(0, 5))('as SVG is read back by a decoder: %s', (text) => {
    const { data, size } = paint(qrSvg(text), 4);
    expect(decode(data, size, size)?.data).toBe(text);
  });

  it('as SVG is one path of runs, each as long as it can be, and says how large it wants to be', () => {
    const svg = qrSvg(texts[0] ?? '');
    const modules = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)?.[1]);
    expect(svg).toContain(` width="${modules * 6}" height="${modules * 6}"`);
    const path = /<path d="([^"]+)"/.exec(svg)?.[1] ?? '';
    expect(path).toMatch(/^(M\d+ \d+h([1-9]\d*)v1h-\2z)+$/);
    const ends = new Set<string>();
    for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)/g)) {
      expect(ends.has(`${x} ${y}`)).toBe(false);
      ends.add(`${Number(x) + Number(length)} ${y}`);
    }
  });

  it('has each module of the symbol in six by six pixels, whatever the text', () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const { qr } = drawQr(seededRandom(seed), secret);
        const modules = encodeQR(qr, 'raw', { ecc: 'medium', border: 4 });
        const { width, data } = PNG.sync.read(qrPng(qr), { checkCRC: true });
        expect(width).toBe(modules.length * 6);
        const wrong = [];
        for (let y = 0; y < width; y += 1) {
          for (let x = 0; x < width; x += 1) {
            const isBlack = modules[Math.floor(y / 6)]?.[Math.floor(x / 6)];
            if (data[(y * width + x) * 4] !== (isBlack ? 0 : 255)) wrong.push(`${x} ${y}`);
          }
        }
        expect(wrong).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  it('is written in all sixteen colourings of four modules, with a checksum that zlib takes', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 33 * 33, maxLength: 33 * 33 }), (colours) => {
        const inside = (place: number) => place >= 4 && place < 37;
        const modules = Array.from({ length: 41 }, (_, y) =>
          Array.from({ length: 41 }, (__, x) => inside(x) && inside(y) && colours[(y - 4) * 33 + x - 4] === true),
        );
        const lines = inflateSync(zlibPixels(modules));
        expect(lines).toHaveLength(246 * 32);
        for (const y of [0, 24, 29, 30, 131, 245]) {
          const bits = [...lines.subarray(y * 32 + 1, (y + 1) * 32)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
          const row = modules[Math.floor(y / 6)] ?? [];
          expect(bits.slice(0, 246)).toBe(row.map((isBlack) => (isBlack ? '000000' : '111111')).join(''));
        }
      }),
      { numRuns: 50 },
    );
    expect(() => zlibPixels([[true]])).toThrow('not expected');
  });

  it('is small, has one bit a pixel and a quiet zone of four modules', () => {
    const png = qrPng(texts[0] ?? '');
    expect(png.length).toBeLessThan(1024);
    expect([png[24], png[25]]).toEqual([1, 0]);
    const { width, data } = PNG.sync.read(png);
    const module = 6;
    for (let x = 0; x < width; x += 1) expect(data[(width * (4 * module - 1) + x) * 4]).toBe(255);
    expect(data[(width * 4 * module + 4 * module) * 4]).toBe(0);
  });
});
