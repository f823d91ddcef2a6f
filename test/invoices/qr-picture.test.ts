import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import { describe, expect, it } from 'vitest';
import { qrPng, qrSvg } from '../../src/invoices/qr-picture.ts';
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

  it('as SVG is one path of maximal runs, with its size', () => {
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
