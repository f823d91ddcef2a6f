// The six stories on the real wire: each ends with what was seen and with books that agree; one that is broken on purpose says that they do not.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storyNames } from '../../src/cabinet/playground/view-schema.ts';
import { openSandboxRoom, type SandboxRoom } from './sandbox-room.ts';

let room: SandboxRoom;
beforeAll(async () => {
  room = await openSandboxRoom();
}, 60_000);
afterAll(() => room?.close());

describe('each story', () => {
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
