// Bodies that are still coming, in memory and virtual time: what each may hold, who is cut for whom, and what every end leaves behind.
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { type BodyIntake, createBodyIntake, type IntakeOptions } from '../../src/http/body-intake.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

const overheadBytes = 2_048;

let clock: VirtualClock;
let intake: BodyIntake;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  intake = create();
});

function create(bounds: Partial<IntakeOptions> = {}): BodyIntake {
  return createBodyIntake({ clock, bodyBytes: 1_000, bodiesPerAddress: 2, bufferedBytes: 1_000_000, ...bounds });
}

/** A body that has begun; `end` is how it ended, by now. */
function begin({ address = 'a', length }: { address?: string; length?: number } = {}) {
  const payload = new PassThrough();
  let end: Buffer | undefined;
  let refusal: { httpStatus: number; message: string } | undefined;
  intake.read(address, payload, length).then(
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
  it('is whole when all of it has come, in one piece or in several, and holds nothing from then on', async () => {
    const [one, several] = [begin({ length: 5 }), begin()];
    const before = listeners({ ...one, payload: new PassThrough() });
    await one.write('hello');
    await several.write('good', ' ', 'bye');
    expect(held()).toEqual([2, 2 * overheadBytes + 13]);
    await finish(one);
    await finish(several);
    expect([one.text(), several.text(), held()]).toEqual(['hello', 'good bye', [0, 0]]);
    expect([listeners(one), listeners(several)]).toEqual([before, before]);
  });

  it('may be empty, and just as large as the bound', async () => {
    const [empty, full] = [begin({ length: 0 }), begin({ length: 1_000 })];
    await full.write('x'.repeat(600), 'x'.repeat(400));
    await finish(empty);
    await finish(full);
    expect([empty.text(), full.text()?.length]).toEqual(['', 1_000]);
  });

  it('that says that it will be too large is not waited for, and takes no place', async () => {
    const body = begin({ length: 1_001 });
    await clock.settle();
    expect([body.status(), held(), listeners(body)]).toEqual([413, [0, 0], listeners({ ...body, payload: new PassThrough() })]);
  });

  it('that becomes too large ends there, and what still comes is dropped, so that its sender can read why', async () => {
    const body = begin();
    await body.write('x'.repeat(1_000));
    expect(body.status()).toBeUndefined();
    await body.write('x');
    expect([body.status(), held()]).toEqual([413, [0, 0]]);
    await body.write('x'.repeat(100_000));
    expect([body.payload.readableLength, body.payload.writableLength]).toEqual([0, 0]);
    expect(held()).toEqual([0, 0]);
  });

  it.each([4, 6])('that has another length than the %i it announced is refused', async (length) => {
    const body = begin({ length });
    await body.write('hello');
    await finish(body);
    expect([body.status(), body.sentence(), held()]).toEqual([400, expect.stringContaining('Content-Length'), [0, 0]]);
  });

  it.each([
    ['closes', (payload: PassThrough) => payload.destroy()],
    ['breaks', (payload: PassThrough) => payload.destroy(new Error('ECONNRESET'))],
    ['tells an error alone', (payload: PassThrough) => payload.emit('error', new Error('aborted'))],
  ])('whose connection %s is over', async (_how, end) => {
    const body = begin();
    await body.write('hel');
    end(body.payload);
    await clock.settle();
    expect([body.status(), body.sentence(), held()]).toEqual([400, expect.stringContaining('connection ended'), [0, 0]]);
    // A connection may break once more after that: it ends no process.
    body.payload.emit('error', new Error('late'));
    expect(held()).toEqual([0, 0]);
  });
});

describe('of one address', () => {
  it('the oldest is cut for one too many, and no other address notices', async () => {
    const neighbour = begin({ address: 'b' });
    const bodies = [begin(), begin(), begin()];
    await clock.settle();
    expect(bodies.map((body) => body.status())).toEqual([408, undefined, undefined]);
    expect(bodies[0]?.sentence()).toContain('newer requests of this address');
    expect([neighbour.status(), intake.unfinished]).toEqual([undefined, 3]);
  });

  it('those that have ended no longer count', async () => {
    const [first] = [begin(), begin()];
    await finish(first);
    const third = begin();
    await clock.settle();
    expect([third.status(), intake.unfinished]).toEqual([undefined, 2]);
    await finish(first);
    expect(intake.unfinished).toBe(2);
  });
});

describe('of all', () => {
  const roomFor = (bodies: number, bytes: number) => {
    intake = create({ bodyBytes: 100_000, bodiesPerAddress: 100, bufferedBytes: bodies * overheadBytes + bytes });
  };

  it('none is cut at the bound, and beyond it the slowest, until there is some room', async () => {
    roomFor(3, 60_000);
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
    expect(held()).toEqual([2, 2 * overheadBytes + 30_001]);
  });

  it('one that has just begun counts as quick until it has had the time to show it', async () => {
    roomFor(2, 44_000);
    const older = begin({ address: 'older' });
    await older.write('x'.repeat(22_000));
    await clock.advance(4_000);
    await older.write('x'.repeat(22_000));
    const younger = begin({ address: 'younger' });
    await younger.write('x');
    expect([older.status(), younger.status()]).toEqual([408, undefined]);
  });

  it('speed is what came lately: much of long ago is little', async () => {
    roomFor(2, 70_000);
    const [once, now] = [begin({ address: 'once' }), begin({ address: 'now' })];
    await once.write('x'.repeat(50_000));
    await clock.advance(10_000);
    await now.write('x'.repeat(5_000), 'x'.repeat(10_000));
    expect([once.status(), now.status()]).toEqual([undefined, undefined]);
    await now.write('x'.repeat(6_000));
    expect([once.status(), now.status()]).toEqual([408, undefined]);
  });

  it('the slowest is cut, whenever it came', async () => {
    roomFor(2, 4_999);
    const [quick, slow] = [begin({ address: 'quick' }), begin({ address: 'slow' })];
    await clock.advance(2_000);
    await quick.write('x'.repeat(5_000));
    expect([quick.status(), slow.status()]).toEqual([undefined, 408]);
  });

  it('what came half a second ago still counts for the most part', async () => {
    roomFor(2, 8_000);
    const [little, much] = [begin({ address: 'little' }), begin({ address: 'much' })];
    await much.write('x'.repeat(8_000));
    await clock.advance(500);
    await little.write('x'.repeat(100));
    expect([little.status(), much.status()]).toEqual([408, undefined]);
  });

  it('one that came long ago and brings little is slower than one that has just begun', async () => {
    roomFor(2, 5_000);
    const older = begin({ address: 'older' });
    await clock.advance(2_000);
    const younger = begin({ address: 'younger' });
    await older.write('x'.repeat(5_001));
    expect([older.status(), younger.status()]).toEqual([408, undefined]);
  });

  it('bodies that bring nothing take room, too: beyond it two go, and a tenth is free', async () => {
    roomFor(10, 0);
    const bodies = Array.from({ length: 11 }, (_, number) => begin({ address: String(number) }));
    await clock.settle();
    expect(bodies.filter((body) => body.status() === 408)).toHaveLength(2);
    expect(intake.unfinished).toBe(9);
  });

  it('as many are cut as make a tenth of the room free, not only one', async () => {
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
