// The six stories on the real wire: each ends with what was seen and with books that agree; one that is broken on purpose says that they do not.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storyNames } from '../../src/cabinet/playground/view-schema.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { openSandboxRoom, type SandboxRoom } from './sandbox-room.ts';

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

  it.each(storyNames)('%s comes to its end, and the books agree', { timeout: 60_000 }, async (name) => {
    expect(await room.post(`/stories/${name}`)).toMatchObject({ errorCode: 0, runId: expect.any(String) });
    expect(await room.post(`/stories/${name}`)).toMatchObject({ errorCode: 31 });
    const { story, books } = await room.sees((view) => view.story?.isRunning === false && view);
    expect(story).toMatchObject({ name, verdict: { key: `playground.verdict.${name}`, booksAgree: true } });
    expect(story?.steps.map(({ state }) => state)).toEqual(story?.steps.map(() => 'done'));
    expect(books).toMatchObject({ agree: true, differences: [], underWay: 0 });
    const { bank, ledger, fiscal, erp } = books;
    expect([ledger.sum, fiscal.sum, erp.sum]).toEqual([bank.sum, bank.sum, bank.sum]);
    expect(bank.sum).toBeGreaterThan(0);
  });
});
