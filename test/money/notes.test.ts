// Acceptances are written late; the end of a command includes its acceptance.
import { describe, expect, it } from 'vitest';
import type { Event } from '../../src/money/event.ts';
import { createNotes } from '../../src/money/notes.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

function gathering() {
  const clock = createVirtualClock();
  const written: Event[] = [];
  const notes = createNotes({ clock, logger: quietLogger, commit: async (event) => void written.push(event) });
  return { clock, written, notes };
}
const acceptance = { type: 'Accepted', id: 'op' };

describe('the note of an acceptance', () => {
  it('is written when the command takes longer', async () => {
    const { clock, written, notes } = gathering();
    notes.accepted('op');
    await clock.advance(200);
    expect(written).toEqual([]);
    await clock.advance(100);
    expect(written).toEqual([acceptance]);
  });

  it('is not written beside the end of the command, however long its commit takes', async () => {
    const { clock, written, notes } = gathering();
    notes.accepted('op');
    const ended = notes.whileEnding('op', async () => {
      await new Promise<void>((resolve) => void clock.after(5_000, resolve));
      notes.ended('op');
    });
    await clock.advance(4_999);
    expect(notes.wasAccepted('op')).toBe(true);
    expect(written).toEqual([]);
    await clock.advance(1);
    await ended;
    await clock.advance(1_000);
    expect(written).toEqual([]);
  });

  it('is written when the end could not be committed', async () => {
    const { clock, written, notes } = gathering();
    notes.accepted('op');
    await expect(notes.whileEnding('op', () => Promise.reject(new Error('the database is down')))).rejects.toThrow('down');
    await clock.advance(1_000);
    expect(written).toEqual([acceptance]);
  });
});
