// The listeners of wake-up topics inside this process. An error of a listener is logged and does not affect the others.
import type { Cancel } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';

type WakeListener = (detail: string) => void;

export type LocalWake = ReturnType<typeof createLocalWake>;

export function createLocalWake(logger: Logger) {
  const listenersByTopic = new Map<string, Set<WakeListener>>();
  return {
    wake(topic: string, detail: string): void {
      for (const listener of [...(listenersByTopic.get(topic) ?? [])]) {
        try {
          listener(detail);
        } catch (error) {
          logger.error({ err: error, topic }, 'a wake listener failed');
        }
      }
    },
    onWake(topic: string, listener: WakeListener): Cancel {
      const listeners = listenersByTopic.get(topic) ?? new Set();
      listenersByTopic.set(topic, listeners);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
