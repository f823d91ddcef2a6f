// In processes of their own: what V8 has compiled, and by which rule, belongs to a whole process.
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Calls a function a hundred times over and over, with rests in which V8 may compile it, until it is compiled in the best way. */
const callsUntilBest = (first: string) => {
  const script = `
    ${first}
    import { setFlagsFromString } from 'node:v8';
    setFlagsFromString('--allow-natives-syntax');
    const statusOf = new Function('called', 'return %GetOptimizationStatus(called)');
    const byTurbofan = 1 << 6;
    function called(list) {
      let sum = 0;
      for (const { value } of list) sum += value * 2;
      return { sum, text: String(sum) };
    }
    let calls = 0;
    while ((statusOf(called) & byTurbofan) === 0 && calls < 50_000) {
      for (let count = 0; count < 100; count += 1) called([{ value: 1 }, { value: calls }]);
      calls += 100;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    console.log(calls);`;
  return Number(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }));
};

it('what is called a thousand times is compiled in the best way, instead of seven thousand times', () => {
  const module = new URL('../../src/cli/compile-sooner.ts', import.meta.url).href;
  const soon = callsUntilBest(`import { compileSooner } from '${module}'; compileSooner();`);
  expect(soon).toBeGreaterThan(0);
  expect(soon).toBeLessThan(callsUntilBest('') / 3);
});
