import jsqr from 'jsqr';
import { describe, expect, it } from 'vitest';
import { benchOfOne } from '../bench-of-one.ts';

/** Paints the QR's cells, as a browser would, and reads them. */
function readQrIn(svg: string): string | undefined {
  const size = Number(/ width="(\d+)"/.exec(svg)?.[1]);
  const height = Number(/ height="(\d+)"/.exec(svg)?.[1]);
  const pixels = new Uint8ClampedArray(size * height * 4).fill(255);
  for (const [, left, top, cell] of svg.matchAll(/M(\d+) (\d+)h(\d+)v\d+h-\d+z/g)) {
    for (let y = Number(top); y < Number(top) + Number(cell); y += 1) {
      for (let x = Number(left); x < Number(left) + Number(cell); x += 1) pixels.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3);
    }
  }
  // jsqr is a CommonJS module whose types and exports disagree under nodenext.
  return (jsqr as unknown as typeof jsqr.default)(pixels, size, height)?.data;
}

async function print(receipt: object) {
  const bench = await benchOfOne({ kind: 'register', name: 'Shop "A" <1>' });
  await bench.ask('PrintReceipt', { receipt });
  const paper = bench.device.screen.recent().find((event) => event.type === 'paper');
  if (paper?.type !== 'paper' || paper.svg === undefined) throw new Error('nothing was printed');
  return { text: paper.text, svg: paper.svg };
}

describe('a printed receipt', () => {
  const receipt = {
    Number: 'INV-7',
    Items: [
      { Name: 'Bread & <butter>', Quantity: 2, Price: 12.5 },
      { Name: 'A very long name that does not fit on one line of the roll', Quantity: 1, Price: 5, VAT: 'B' },
    ],
    Payments: [{ PaymentCode: 0, Amount: 50 }],
  };

  it('has lines, letters, totals, payment and change, no wider than the roll', async () => {
    const { text } = await print(receipt);
    for (const part of [
      'BON FISCAL',
      '2 x 12.5',
      '25.00 A',
      '5.00 B',
      'TOTAL MDL',
      '30.00',
      'VAT A',
      '4.17',
      'VAT B',
      '0.37',
      'CASH',
      'CHANGE',
      '20.00',
      'INV-7',
      '00000001',
    ]) {
      expect(text).toContain(part);
    }
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(32);
  });

  it('is a picture with a readable verification QR, and no markup of the receipt gets into it', async () => {
    const { svg } = await print(receipt);
    expect(svg).toMatch(/^<svg .*<\/svg>$/s);
    expect(svg).toContain('Bread &amp; &lt;butter&gt;');
    expect(svg).not.toContain('<butter>');
    const address = new URL(readQrIn(svg) ?? '');
    expect(address.searchParams.get('total')).toBe('30.00');
    expect(address.searchParams.get('receipt')).toBe('00000001');
  });
});
