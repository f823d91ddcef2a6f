// Runs the transcripts of this folder and compares what people see. TILLGATE_TRANSCRIPTS=write rewrites them; review the diff.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runTranscript } from '../../exploration/transcripts.ts';

const names = globSync('*.txt', { cwd: import.meta.dirname }).sort();
const isWriting = process.env['TILLGATE_TRANSCRIPTS'] === 'write';

describe('transcripts', () => {
  it.each(names)('%s', (name) => {
    const path = `${import.meta.dirname}/${name}`;
    const text = readFileSync(path, 'utf8');
    const run = runTranscript(text);
    if (isWriting) writeFileSync(path, run.text);
    else expect(run.text).toBe(text);
  });
});
