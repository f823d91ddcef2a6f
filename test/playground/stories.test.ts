// The six stories on the real wire: each ends with what was seen and with books that agree; one that is broken on purpose says that they do not.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storyNames } from '../../src/cabinet/playground/view-schema.ts';
import { byDayOrNight } from '../support/at-length.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { openSandboxRoom, type SandboxRoom } from './sandbox-room.ts';

type StoryName = (typeof storyNames)[number];
/** By day one with payments, a refund and a refusal: what the stories call has tests of its own on both engines. */
const onPostgres = byDayOrNight<readonly StoryName[]>(['refundOverRest'], storyNames);

describe.each(engines)('each story on %s', (engine) => {
  let room: SandboxRoom;
  let place: Awaited<ReturnType<typeof emptyPlace>>;
  beforeAll(async () => {
    place = await emptyPlace(engine);
    room = await openSandboxRoom(place.options.url === undefined ? {} : { TILLGATE_DATABASE_URL: place.options.url });
  }, 60_000);
  afterAll(async () => {
    await room?.close();
    await place?.remove();
  });

  it.each(engine === 'postgres' ? onPostgres : storyNames)(
    '%s comes to its end, and the books agree',
    { timeout: 60_000 },
    async (name) => {
      expect(await room.post(`/stories/${name}`)).toMatchObject({ errorCode: 0, runId: expect.any(String) });
      expect(await room.post(`/stories/${name}`)).toMatchObject({ errorCode: 31 });
      const { story, books } = await room.sees((view) => view.story?.isRunning === false && view);
      expect(story).toMatchObject({ name, verdict: { key: `playground.verdict.${name}`, booksAgree: true } });
      expect(story?.steps.map(({ state }) => state)).toEqual(story?.steps.map(() => 'done'));
      expect(books).toMatchObject({ agree: true, differences: [], underWay: 0 });
      const { bank, ledger, fiscal, erp } = books;
      expect([ledger.sum, fiscal.sum, erp.sum]).toEqual([bank.sum, bank.sum, bank.sum]);
      expect(bank.sum).toBeGreaterThan(0);
    },
  );

  it('is played step by step: it waits before each step but the first, and goes on when it is asked to', { timeout: 60_000 }, async () => {
    expect(await room.post('/stories/mode', { stepByStep: true })).toMatchObject({ errorCode: 0 });
    expect(await room.post('/stories/next')).toMatchObject({ errorCode: 22 });
    await room.post('/stories/lostAnswer');
    const waited: number[] = [];
    for (;;) {
      const { story } = await room.sees((view) => (view.story?.isWaiting === true || view.story?.isRunning === false) && view);
      if (story?.isRunning !== true) break;
      waited.push(story.steps.filter(({ state }) => state === 'done').length);
      expect(story.steps.some(({ state }) => state === 'running')).toBe(false);
      expect(await room.post('/stories/next')).toMatchObject({ errorCode: 0 });
      await room.sees((view) => view.story?.steps.some(({ state }, index) => index >= waited.length && state !== 'waiting') && view);
    }
    expect(waited).toEqual([1, 2, 3, 4]);
    const { story } = await room.sees((view) => view);
    expect(story?.verdict).toMatchObject({ key: 'playground.verdict.lostAnswer', booksAgree: true });

    // Switched off, the story that waits goes to its end.
    await room.post('/stories/doubleClick');
    await room.sees((view) => view.story?.isWaiting === true && view);
    await room.post('/stories/mode', { stepByStep: false });
    const end = await room.sees((view) => view.story?.isRunning === false && view);
    expect(end.story?.verdict).toMatchObject({ booksAgree: true });
  });
});
