// Bodies in transfer, in memory and virtual time: their limits, which one is cut for another, and that each end releases its memory.
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { createBodyIntake, type IntakeOptions } from '../../src/http/body-intake.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const overheadBytes = 2_048;
const chunkBytes = 512;

let clock: VirtualClock;
let intake: ReturnType<typeof createBodyIntake>;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  intake = create();
});

function create(bounds: Partial<IntakeOptions> = {}): ReturnType<typeof createBodyIntake> {
  return createBodyIntake({ clock, bodyBytes: 1_000, bodiesPerAddress: 2, bufferedBytes: 1_000_000, ...bounds });
}

/** Starts a body; text() and status() return how it ended, if it has. */
function begin({ address = 'a', length }: { address?: string; length?: number } = {}) {
  const payload = new PassThrough();
  let end: Buffer | undefined;
  let refusal: { httpStatus: number; message: string } | undefined;
  intake.read(address, payload, { contentLength: length }).then(
    (body) => (end = body),
    (error: { httpStatus: number; message: string }) => (refusal = error),
  );
  return {
    payload,
    async write(...chunks: string[]) {
      for (const chunk of chunks) {
        payload.write(chunk);
        await clock.settle();
      }
    },
    text: () => end?.toString(),
    status: () => (end ? 200 : refusal?.httpStatus),
    sentence: () => refusal?.message,
  };
}
type Body = ReturnType<typeof begin>;

async function finish(body: Body): Promise<void> {
  body.payload.end();
  await clock.settle();
}
const held = () => [intake.unfinished, intake.bufferedBytes];
const listeners = ({ payload }: Body) => ['data', 'end', 'close'].map((event) => payload.listenerCount(event));

describe('a body', () => {
  it('is complete when all of it has arrived, in one or several chunks, and holds no memory then', async () => {
    const [one, several] = [begin({ length: 5 }), begin()];
    const before = listeners({ ...one, payload: new PassThrough() });
    await one.write('hello');
    await several.write('good', ' ', 'bye');
    expect(held()).toEqual([2, 2 * overheadBytes + 4 * chunkBytes + 13]);
    await finish(one);
    await finish(several);
    expect([one.text(), several.text(), held()]).toEqual(['hello', 'good bye', [0, 0]]);
    expect([listeners(one), listeners(several)]).toEqual([before, before]);
  });

  it('that waits for its turn takes the memory until then, and may be cut like one that still arrives', async () => {
    intake = create({ bufferedBytes: 10_000 });
    const turns: (() => void)[] = [];
    const wait = () => {
      const payload = new PassThrough();
      const outcome = intake
        .read('a', payload, { inTurn: (_bytes, read) => turns.push(read) })
        .then(String, (error: Error) => error.message);
      payload.end('x'.repeat(500));
      return outcome;
    };
    const first = wait();
    await clock.settle();
    expect(held()).toEqual([1, overheadBytes + chunkBytes + 500]);
    turns[0]?.();
    expect([await first, held()]).toEqual(['x'.repeat(500), [0, 0]]);
    intake = create({ bufferedBytes: overheadBytes });
    const cut = wait();
    expect(await cut).toContain('too slowly');
    expect(held()).toEqual([0, 0]);
  });

  it('may be empty, and exactly as large as the limit', async () => {
    const [empty, full] = [begin({ length: 0 }), begin({ length: 1_000 })];
    await full.write('x'.repeat(600), 'x'.repeat(400));
    await finish(empty);
    await finish(full);
    expect([empty.text(), full.text()?.length]).toEqual(['', 1_000]);
  });

  it('in one-byte chunks takes the memory of its chunks, and may have only so many', async () => {
    intake = create({ bodyBytes: 100_000, bufferedBytes: 10_000_000 });
    const body = begin();
    for (let chunk = 0; chunk < 10_000; chunk += 1) body.payload.emit('data', Buffer.from('1'));
    expect(held()).toEqual([1, overheadBytes + 10_000 * (chunkBytes + 1)]);
    await body.write('1');
    expect([body.status(), body.sentence(), held()]).toEqual([413, expect.stringContaining('10000 chunks'), [0, 0]]);
    const many = create({ bodyBytes: 100_000, bufferedBytes: 100 * chunkBytes });
    const cut = new PassThrough();
    const refused = expect(many.read('a', cut)).rejects.toMatchObject({ httpStatus: 408 });
    for (let chunk = 0; chunk < 100; chunk += 1) cut.emit('data', Buffer.from('1'));
    await refused;
  });

  it('that announces too large a length is refused at once', async () => {
    const body = begin({ length: 1_001 });
    await clock.settle();
    expect([body.status(), held(), listeners(body)]).toEqual([413, [0, 0], listeners({ ...body, payload: new PassThrough() })]);
  });

  it('that becomes too large is refused, and the rest of it is discarded, so that the client can read the answer', async () => {
    const body = begin();
    await body.write('x'.repeat(1_000));
    expect(body.status()).toBeUndefined();
    await body.write('x');
    expect([body.status(), held()]).toEqual([413, [0, 0]]);
    await body.write('x'.repeat(100_000));
    expect([body.payload.readableLength, body.payload.writableLength]).toEqual([0, 0]);
    expect(held()).toEqual([0, 0]);
  });

  it.each([4, 6])('that differs from its announced length of %i is refused', async (length) => {
    const body = begin({ length });
    await body.write('hello');
    await finish(body);
    expect([body.status(), body.sentence(), held()]).toEqual([400, expect.stringContaining('Content-Length'), [0, 0]]);
  });

  it.each([
    ['closes', (payload: PassThrough) => payload.destroy()],
    ['breaks', (payload: PassThrough) => payload.destroy(new Error('ECONNRESET'))],
    ['only emits an error', (payload: PassThrough) => payload.emit('error', new Error('aborted'))],
  ])('whose connection %s is refused', async (_how, end) => {
    const body = begin();
    await body.write('hel');
    end(body.payload);
    await clock.settle();
    expect([body.status(), body.sentence(), held()]).toEqual([400, expect.stringContaining('connection ended'), [0, 0]]);
    // A later error of the connection is ignored.
    body.payload.emit('error', new Error('late'));
    expect(held()).toEqual([0, 0]);
  });
});

describe('bodies of one address', () => {
  it('above the limit: the oldest is cut, and other addresses are not affected', async () => {
    const neighbour = begin({ address: 'b' });
    const bodies = [begin(), begin(), begin()];
    await clock.settle();
    expect(bodies.map((body) => body.status())).toEqual([408, undefined, undefined]);
    expect(bodies[0]?.sentence()).toContain('newer requests of this address');
    expect([neighbour.status(), intake.unfinished]).toEqual([undefined, 3]);
  });

  it('no longer count once they have ended', async () => {
    const [first] = [begin(), begin()];
    await finish(first);
    const third = begin();
    await clock.settle();
    expect([third.status(), intake.unfinished]).toEqual([undefined, 2]);
    await finish(first);
    expect(intake.unfinished).toBe(2);
  });
});

describe('bodies of all addresses', () => {
  const roomFor = (bodies: number, bytes: number) => {
    intake = create({ bodyBytes: 100_000, bodiesPerAddress: 100, bufferedBytes: bodies * overheadBytes + bytes });
  };

  it('are not cut at the limit; above it the slowest is, until there is room', async () => {
    roomFor(3, 60_000 + 2 * chunkBytes);
    const [slow, quick] = [begin({ address: 'slow' }), begin({ address: 'quick' })];
    await slow.write('x'.repeat(30_000));
    await clock.advance(2_000);
    await quick.write('x'.repeat(30_000));
    const late = begin({ address: 'late' });
    await clock.settle();
    expect([slow, quick, late].map((body) => body.status())).toEqual([undefined, undefined, undefined]);
    await late.write('x');
    expect([slow, quick, late].map((body) => body.status())).toEqual([408, undefined, undefined]);
    expect(slow.sentence()).toContain('too slowly');
    expect(held()).toEqual([2, 2 * overheadBytes + 2 * chunkBytes + 30_001]);
  });

  it('count as fast at first, until they have had time to prove it', async () => {
    roomFor(2, 44_000);
    const older = begin({ address: 'older' });
    await older.write('x'.repeat(22_000));
    await clock.advance(4_000);
    await older.write('x'.repeat(22_000));
    const younger = begin({ address: 'younger' });
    await younger.write('x');
    expect([older.status(), younger.status()]).toEqual([408, undefined]);
  });

  it('are rated by recently received bytes, not by earlier ones', async () => {
    roomFor(2, 70_000);
    const [once, now] = [begin({ address: 'once' }), begin({ address: 'now' })];
    await once.write('x'.repeat(50_000));
    await clock.advance(10_000);
    await now.write('x'.repeat(5_000), 'x'.repeat(10_000));
    expect([once.status(), now.status()]).toEqual([undefined, undefined]);
    await now.write('x'.repeat(6_000));
    expect([once.status(), now.status()]).toEqual([408, undefined]);
  });

  it('are cut by speed, not by age', async () => {
    roomFor(2, 4_999);
    const [quick, slow] = [begin({ address: 'quick' }), begin({ address: 'slow' })];
    await clock.advance(2_000);
    await quick.write('x'.repeat(5_000));
    expect([quick.status(), slow.status()]).toEqual([undefined, 408]);
  });

  it('are rated mostly by the bytes of the last half second', async () => {
    roomFor(2, 8_000);
    const [little, much] = [begin({ address: 'little' }), begin({ address: 'much' })];
    await much.write('x'.repeat(8_000));
    await clock.advance(500);
    await little.write('x'.repeat(100));
    expect([little.status(), much.status()]).toEqual([408, undefined]);
  });

  it('that started long ago and send little are slower than one that has just started', async () => {
    roomFor(2, 5_000);
    const older = begin({ address: 'older' });
    await clock.advance(2_000);
    const younger = begin({ address: 'younger' });
    await older.write('x'.repeat(5_001));
    expect([older.status(), younger.status()]).toEqual([408, undefined]);
  });

  it('use memory even if empty: above the limit two are cut, so that a tenth is free', async () => {
    roomFor(10, 0);
    const bodies = Array.from({ length: 11 }, (_, number) => begin({ address: String(number) }));
    await clock.settle();
    expect(bodies.filter((body) => body.status() === 408)).toHaveLength(2);
    expect(intake.unfinished).toBe(9);
  });

  it('are cut until a tenth of the memory is free, not only one', async () => {
    roomFor(4, 40_000);
    const bodies = [begin({ address: '1' }), begin({ address: '2' }), begin({ address: '3' }), begin({ address: '4' })] as const;
    for (const body of bodies) {
      await body.write('x'.repeat(2_000));
      await clock.advance(100);
    }
    await bodies[3].write('x'.repeat(32_001));
    expect(bodies.map((body) => body.status())).toEqual([408, 408, undefined, undefined]);
  });
});
