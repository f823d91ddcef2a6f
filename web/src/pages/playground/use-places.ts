// Where the things of the stage stand now: measured, because texts differ in length from language to language and windows in width.
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { type Box, type Form, formOf, type Places } from './routes.ts';

const names = ['till', 'gateway', 'terminal', 'register', 'paper'] as const;

export interface Measured {
  form: Form;
  places: Places | undefined;
}

/** `again`: what was chosen; another device is another element to measure. */
export function usePlaces(again: string): [RefObject<HTMLDivElement | null>, Measured] {
  const stage = useRef<HTMLDivElement>(null);
  const [measured, setMeasured] = useState<Measured>({ form: 'wide', places: undefined });
  // oxlint-disable-next-line react/exhaustive-deps -- other elements, other places
  useLayoutEffect(() => {
    const root = stage.current;
    if (!root) return undefined;
    const things = names.map((name) => root.querySelector<HTMLElement>(`[data-wire="${name}"]`));
    const measure = () => {
      const frame = root.getBoundingClientRect();
      const boxes = things.map((thing) => boxOf(thing, frame));
      const [till, gateway, terminal, register, paper] = boxes;
      const width = Math.round(frame.width);
      const places = till && gateway && terminal && register && paper ? { width, till, gateway, terminal, register, paper } : undefined;
      setMeasured((before) => {
        const next = { form: formOf(width), places };
        return JSON.stringify(before) === JSON.stringify(next) ? before : next;
      });
    };
    const observer = new ResizeObserver(measure);
    for (const element of [root, ...root.children, ...things]) if (element) observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [again]);
  return [stage, measured];
}

function boxOf(thing: HTMLElement | null, frame: DOMRect): Box | undefined {
  if (!thing) return undefined;
  const { left, top, right, bottom } = thing.getBoundingClientRect();
  const rounded = (value: number, from: number) => Math.round(value - from);
  return {
    left: rounded(left, frame.left),
    top: rounded(top, frame.top),
    right: rounded(right, frame.left),
    bottom: rounded(bottom, frame.top),
  };
}
