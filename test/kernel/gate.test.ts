import { describe, expect, it } from 'vitest';
import { createGate } from '../../src/kernel/gate.ts';

describe('a gate', () => {
  it('admits a bounded number at once, then the others in their order, prioritised ones first', async () => {
    const gate = createGate(2);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const enter = (name: string, isAhead = false) =>
      gate.run(() => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      }, isAhead);
    const all = [enter('a'), enter('b'), enter('c'), enter('d'), enter('e', true)];
    const end = async (name: string) => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    };
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'e']);
    await end('e');
    await end('a');
    expect(begun).toEqual(['a', 'b', 'e', 'c', 'd']);
    await end('c');
    await end('d');
    await Promise.all(all);
  });

  it('gives the slot of failed work to the next', async () => {
    const gate = createGate(1);
    const failed = gate.run(() => Promise.reject(new Error('no')));
    const next = gate.run(async () => 'in');
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('in');
  });

  it('refuses one more than may wait, and no prioritised one', async () => {
    const gate = createGate(1, { maxBehind: 1 });
    let end: (value: string) => void = () => {};
    const inside = gate.run(() => new Promise<string>((resolve) => (end = resolve)));
    const behind = gate.run(async () => 'behind');
    let hasRun = false;
    await expect(gate.run(async () => (hasRun = true))).rejects.toMatchObject({ errorName: 'Too_Many_Requests', retryAfterS: 1 });
    const ahead = [gate.run(async () => 'ahead', true), gate.run(async () => 'ahead', true)];
    end('inside');
    expect(await Promise.all([inside, behind, ...ahead])).toEqual(['inside', 'behind', 'ahead', 'ahead']);
    expect(hasRun).toBe(false);
    // There is room again.
    expect(await gate.run(async () => 'later')).toBe('later');
  });

  it('alternates between the queues if requested, so that neither starves the other', async () => {
    const gate = createGate(1, { alternates: true });
    const order: string[] = [];
    let end: () => void = () => {};
    const first = gate.run(() => new Promise<void>((resolve) => (end = resolve)), true);
    const run = (name: string, isAhead: boolean) => gate.run(async () => void order.push(name), isAhead);
    const all = [...['a', 'b', 'c', 'd'].map((name) => run(name, true)), ...['1', '2'].map((name) => run(name, false))];
    end();
    await Promise.all([first, ...all]);
    expect(order).toEqual(['1', 'a', '2', 'b', 'c', 'd']);
  });
});
