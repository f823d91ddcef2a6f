// Both clients behind one face: a case of clients/cases.json goes in, its normalised result comes out. Time stands still but for the
// client's own waiting, and chance is always 0.5.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createTillgate, type Tillgate } from '../../clients/typescript/src/index.ts';

export interface CaseCall {
  call: string;
  with: Record<string, unknown>;
  options?: { startPatienceS?: number; outcomePatienceS?: number; timeoutS?: number; untilKnown?: boolean; sentBefore?: boolean };
}

export interface CaseResult {
  outcome: string;
  errorCode: number | null;
  OID: string | null;
  key: string | null;
  /** The key as it was told before the first send. */
  toldKey: string | null;
  report: object;
}

export interface Driver {
  run(given: CaseCall, baseUrl: string, onWait: (ms: number) => Promise<void>): Promise<CaseResult>;
  stop(): Promise<void>;
}

export const apiKey = '7f3d2c1b-0a9e-4d5c-8b7a-6f5e4d3c2b1a';

export function typescriptDriver(): Driver {
  return {
    async run(given, baseUrl, onWait) {
      const { startPatienceS = 30, outcomePatienceS = 120, timeoutS, untilKnown, sentBefore } = given.options ?? {};
      let nowMs = 0;
      const client = createTillgate({
        baseUrl,
        apiKey,
        startPatienceMs: startPatienceS * 1000,
        outcomePatienceMs: outcomePatienceS * 1000,
        world: {
          nowMs: () => nowMs,
          random: () => 0.5,
          async sleep(ms) {
            nowMs += ms;
            await onWait(ms);
          },
        },
      });
      let toldKey: string | null = null;
      const own = {
        onKey: (key: string) => {
          toldKey = key;
        },
        ...(timeoutS === undefined ? {} : { timeoutMs: timeoutS * 1000 }),
        ...(untilKnown === undefined ? {} : { untilKnown }),
        ...(sentBefore === undefined ? {} : { sentBefore }),
      };
      const call = client[given.call as keyof Tillgate] as (
        fields: object,
        own: object,
      ) => Promise<Partial<CaseResult> & { outcome: string }>;
      const { outcome, errorCode = null, OID = null, key = null, report = {} } = await call(given.with, own);
      return { outcome, errorCode, OID, key, toldKey, report };
    },
    async stop() {},
  };
}

/** One Python process for all cases: a line in, lines out, and it waits for a line whenever it sleeps. */
export function pythonDriver(): Driver {
  const script = fileURLToPath(new URL('run_cases.py', import.meta.url));
  let child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  let lines: Interface | undefined;
  const start = () => {
    child = spawn('/usr/bin/python3', [script], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, PYTHONUTF8: '1' } });
    lines = createInterface({ input: child.stdout });
  };
  return {
    async run(given, baseUrl, onWait) {
      if (!child) start();
      if (!child || !lines) throw new Error('no Python');
      child.stdin.write(`${JSON.stringify({ ...given, baseUrl, apiKey })}\n`);
      for (;;) {
        const [line] = (await once(lines, 'line')) as [string];
        const said = JSON.parse(line) as { sleepS: number } | { result: CaseResult };
        if ('result' in said) return said.result;
        await onWait(said.sleepS * 1000);
        child.stdin.write('\n');
      }
    },
    async stop() {
      if (!child) return;
      const closed = once(child, 'close');
      child.stdin.end();
      await closed;
    },
  };
}
