// carry() against a device with a journal and one without, over a network that loses, duplicates, delays and reorders messages, by seed.
// For every seed: one correct result in time, no second execution, no second copy without a journal, no timer left.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CarryResult } from '../../../src/link/carrying/delivery.ts';
import type { AnswerMessage, CommandMessage } from '../../../src/link/wire-schemas.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import type { FakeChannel } from '../fake-channel.ts';
import { commandId, createLinkBench, deviceId, journalId, type LinkBench } from '../link-bench.ts';

interface Device {
  executions: number;
  final: 'done' | 'refused' | 'never' | 'expired' | undefined;
  isRunning: boolean;
  arrivals: number;
}

interface Weather {
  seed: number;
  hasJournal: boolean;
  lossPercent: number;
  maxDelayMs: number;
  doubles: boolean;
  breaks: boolean;
}

function playDevice(bench: LinkBench, weather: Weather): Device {
  const random = seededRandom(weather.seed + 1_000_000);
  const device: Device = { executions: 0, final: undefined, isRunning: false, arrivals: 0 };
  const channels = [bench.mqtt, bench.queue];
  const isLost = () => random.fraction() * 100 < weather.lossPercent;
  const travel = (action: () => void) => {
    const times = weather.doubles && random.fraction() < 0.3 ? 2 : 1;
    for (let copy = 0; copy < times; copy += 1) if (!isLost()) bench.clock.after(random.fraction() * weather.maxDelayMs, action);
  };
  const say = (channel: FakeChannel, id: string, outcome: AnswerMessage['outcome'], report?: AnswerMessage['report']) => {
    const clock = new Date(bench.clock.now()).toISOString();
    travel(() => {
      if (!channel.isConnected) return;
      channel.says.answer(deviceId, {
        v: 1,
        id,
        device: deviceId,
        clock,
        ...(weather.hasJournal ? { journalId } : {}),
        outcome,
        ...(report === undefined ? {} : { report }),
      });
    });
  };
  const receive = (channel: FakeChannel, command: CommandMessage) => {
    if (command.name === 'Recall') {
      if (device.final !== undefined) return say(channel, command.id, 'done', { state: 'final', outcome: device.final });
      if (device.isRunning) return say(channel, command.id, 'done', { state: 'running' });
      device.final = 'never';
      return say(channel, command.id, 'done', { state: 'never' });
    }
    device.arrivals += 1;
    if (weather.hasJournal && device.final !== undefined) return say(channel, command.id, device.final);
    if (device.isRunning) return say(channel, command.id, weather.hasJournal ? 'accepted' : 'busy');
    if (bench.clock.now() > Date.parse(command.startBy ?? '')) {
      device.final = 'expired';
      return say(channel, command.id, 'expired');
    }
    device.isRunning = true;
    device.executions += 1;
    say(channel, command.id, 'accepted');
    bench.clock.after(random.fraction() * 80_000, () => {
      device.isRunning = false;
      device.final = random.fraction() < 0.7 ? 'done' : 'refused';
      say(channel, command.id, device.final);
    });
  };
  for (const channel of channels) {
    channel.onArrival = (_device, command) => travel(() => receive(channel, command));
  }
  if (weather.breaks) {
    for (let count = 0; count < 4; count += 1) {
      const channel = channels[count % 2] as FakeChannel;
      const atMs = 1 + random.fraction() * 60_000;
      bench.clock.after(atMs, () => channel.isConnected && channel.break());
      bench.clock.after(atMs + 100 + random.fraction() * 8_000, () => {
        if (channel.isConnected) return;
        channel.mend();
        bench.presence(channel, weather.hasJournal ? {} : { journalId: undefined });
      });
    }
  }
  return device;
}

async function run(weather: Weather): Promise<{ result: CarryResult; device: Device; bench: LinkBench; tookMs: number }> {
  const bench = await createLinkBench({ seed: weather.seed });
  const device = playDevice(bench, weather);
  const presence = weather.hasJournal ? {} : { journalId: undefined };
  bench.presence(bench.mqtt, presence);
  bench.presence(bench.queue, presence);
  let result: CarryResult | undefined;
  let results = 0;
  let tookMs = 0;
  const startedAt = bench.clock.elapsed();
  void bench.link
    .carry(bench.delivery({ journalId: weather.hasJournal ? journalId : undefined, answerWithinMs: 120_000 }))
    .then((given) => {
      results += 1;
      result = given;
      tookMs = bench.clock.elapsed() - startedAt;
    });
  await bench.clock.advance(300_000);
  expect(results).toBe(1);
  return { result: result as CarryResult, device, bench, tookMs };
}

const weathers: fc.Arbitrary<Weather> = fc.record({
  seed: fc.nat(1_000_000),
  hasJournal: fc.boolean(),
  lossPercent: fc.constantFrom(0, 10, 50, 90),
  maxDelayMs: fc.constantFrom(1, 500, 5_000, 15_000),
  doubles: fc.boolean(),
  breaks: fc.boolean(),
});

describe('carry() on an unreliable network', () => {
  it('reports the true outcome, once and in time', async () => {
    await fc.assert(
      fc.asyncProperty(weathers, async (weather) => {
        const { result, device, bench, tookMs } = await run(weather);
        const commandsSent = [...bench.mqtt.sends, ...bench.queue.sends].filter(({ command }) => command.id === commandId);
        expect(tookMs).toBeLessThanOrEqual(120_000);
        if (weather.hasJournal) expect(device.executions).toBeLessThanOrEqual(1);
        else expect(commandsSent.length).toBeLessThanOrEqual(1);
        expect(commandsSent.filter(({ command }) => command.name === 'Recall')).toEqual([]);
        if (!weather.hasJournal)
          expect(bench.commandsOn(bench.mqtt, 'Recall').length + bench.commandsOn(bench.queue, 'Recall').length).toBe(0);
        if (result.kind === 'not-sent') expect(device.arrivals).toBe(0);
        if (result.kind === 'ended' && weather.hasJournal) expect(result.outcome).toBe(device.final);
        if (result.kind === 'ended' && (result.outcome === 'never' || result.outcome === 'expired') && weather.hasJournal)
          expect(device.executions).toBe(0);
        expect(bench.link.stats().waitingCalls).toBe(0);
        expect(bench.clock.pending).toBe(0);
      }),
      { numRuns: 300, seed: 20_260_115 },
    );
  });

  it('always returns the outcome of the device on a reliable network', async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const { result, device } = await run({
        seed,
        hasJournal: seed % 2 === 0,
        lossPercent: 0,
        maxDelayMs: 500,
        doubles: seed % 3 === 0 && seed % 2 === 0,
        breaks: false,
      });
      expect(result).toMatchObject({ kind: 'ended', outcome: device.final });
      expect(device.executions).toBe(1);
    }
  });
});
