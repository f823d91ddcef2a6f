// Things with owners: what is oldest, of one owner and of all, and what is left after a deletion.
import { expect, it } from 'vitest';
import { ByOwner } from '../../src/kernel/by-owner.ts';

it('lists the things of an owner and of all, oldest first', () => {
  const things = new ByOwner<string>();
  things.add('b', 'one');
  things.add('a', 'two');
  things.add('b', 'three');
  expect([[...things.all()], [...things.owners()], things.size]).toEqual([['one', 'two', 'three'], ['b', 'a'], 3]);
  expect([[...things.of('b')], [...things.of('a')], [...things.of('c')]]).toEqual([['one', 'three'], ['two'], []]);
  expect([...things.ofLargest()]).toEqual(['one', 'three']);
});

it('counts a thing that is added again once, at its first place', () => {
  const things = new ByOwner<string>();
  for (const thing of ['one', 'two', 'one']) things.add('a', thing);
  expect([[...things.of('a')], things.size]).toEqual([['one', 'two'], 2]);
});

it('deletes a thing once, and an owner with the last thing', () => {
  const things = new ByOwner<string>();
  things.add('a', 'one');
  things.add('b', 'two');
  expect([things.delete('one'), things.delete('one'), things.delete('none')]).toEqual([true, false, false]);
  expect([[...things.owners()], [...things.of('a')], [...things.ofLargest()], things.size]).toEqual([['b'], [], ['two'], 1]);
});
