// The listeners of wake-up topics inside this process. An error of a listener is logged and does not affect the others.
import type { Cancel } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';

export type WakeListener = (detail: string) => void;

export interface LocalWake {
  wake(topic: string, detail: string): void;
  onWake(topic: string, listener: WakeListener): Cancel;
}

export function createLocalWake(logger: Logger): LocalWake {
  const listenersByTopic = new Map<string, Set<WakeListener>>();
  return {
    wake(topic, detail) {
      for (const listener of [...(listenersByTopic.get(topic) ?? [])]) {
        try {
          listener(detail);
        } catch (error) {
          logger.error({ err: error, topic }, 'a wake listener failed');
        }
      }
    },
    onWake(topic, listener) {
      const listeners = listenersByTopic.get(topic) ?? new Set();
      listenersByTopic.set(topic, listeners);
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
