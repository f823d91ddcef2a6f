// Devices with one mistake each about what they take, what they say and what they count. Each says which checks must find it.
import { forgetting, naming, type PlantedFault, twice } from './planting.ts';

export const carelessDevices: readonly PlantedFault[] = [
  {
    what: 'drops commands with fields that it does not know',
    foundBy: ['unknown-field'],
    plant: () => ({ command: (command) => ('future' in command ? undefined : command) }),
  },
  {
    what: 'has no clock',
    foundBy: ['presence-at-connect'],
    plant: () => ({ presence: ({ clock: _clock, ...presence }) => presence, answer: ({ clock: _clock, ...answer }) => answer }),
  },
  {
    what: 'writes its clock without a zone',
    foundBy: ['clock'],
    plant: () => ({ answer: (answer) => ({ ...answer, clock: answer['clock'].slice(0, 19) }) }),
  },
  {
    what: 'has a clock that stands still',
    foundBy: ['clock'],
    plant: () => ({
      answer: (answer) => ({ ...answer, clock: '2026-01-15T09:00:00.000Z' }),
      presence: (presence) => ({ ...presence, clock: '2026-01-15T09:00:00.000Z' }),
    }),
  },
  {
    what: 'says that it is there only once',
    foundBy: ['presence-goes-on'],
    plant: () => ({ device: { presenceEveryMs: 3_600_000 } }),
  },
  {
    what: 'keeps its bootId for ever',
    foundBy: ['restart'],
    plant: () => ({ presence: (presence) => ({ ...presence, bootId: '22222222-2222-4222-8222-222222222222' }) }),
  },
  {
    what: 'never says accepted',
    foundBy: ['runs'],
    plant: () => ({ answer: (answer) => (answer['outcome'] === 'accepted' ? undefined : answer) }),
  },
  {
    what: 'is busy with itself when a running command comes again',
    foundBy: ['doubled-while-it-runs'],
    plant() {
      const accepted = new Set<string>();
      return {
        answer(answer) {
          if (answer['outcome'] !== 'accepted') return answer;
          if (accepted.has(answer['id'])) return { ...answer, outcome: 'busy' };
          accepted.add(answer['id']);
          return answer;
        },
      };
    },
  },
  {
    what: 'forgets that it was busy',
    foundBy: ['busy'],
    plant: (hands) => forgetting(hands, ({ outcome }) => outcome === 'busy'),
  },
  {
    what: 'does not write unsupported into its journal',
    foundBy: ['unsupported-is-written'],
    plant: (hands) => forgetting(hands, ({ outcome }) => outcome === 'unsupported', { recallToo: true }),
  },
  {
    what: 'rounds a third decimal and charges',
    foundBy: ['wrong-arguments'],
    plant: () => ({
      command: (command) => (command['args']?.amount === 1.001 ? { ...command, args: { ...command['args'], amount: 1 } } : command),
    }),
  },
  {
    what: 'reports another amount than was asked for',
    foundBy: ['report'],
    plant: () =>
      naming((answer, name) => (name === 'Pay' && answer['report'] ? { ...answer, report: { ...answer['report'], amount: 100 } } : answer)),
  },
  {
    what: 'reports no rrn',
    foundBy: ['report'],
    plant: () =>
      naming((answer, name) =>
        name === 'Pay' && answer['report'] ? { ...answer, report: { ...answer['report'], rrn: undefined } } : answer,
      ),
  },
  {
    what: 'charges twice and tells once',
    foundBy: ['books-close'],
    plant: (hands) => ({ ...twice('Pay', hands), device: { timing: { customerMs: 100 } } }),
  },
  { what: 'prints twice and tells once', kind: 'register', foundBy: ['totals-close'], plant: (hands) => twice('PrintReceipt', hands) },
  {
    what: 'counts what was paid on a terminal as cash',
    kind: 'register',
    foundBy: ['prints-paid'],
    plant: () => ({
      command(command) {
        const { receipt } = (command['args'] ?? {}) as { receipt?: { Payments: { paid?: object }[] } };
        const isPaid = receipt?.Payments.some(({ paid }) => paid !== undefined);
        return isPaid ? { ...command, args: { receipt: { ...receipt, Payments: [{ PaymentCode: 0 }] } } } : command;
      },
    }),
  },
  { what: 'forgets endings that found no channel', foundBy: ['answers-travel'], plant: () => ({ forgetsUnsent: true }) },
  { what: 'gives up when it is not let in', foundBy: ['answers-travel'], plant: () => ({ givesUp: true }) },
  {
    what: 'answers Status with accepted first',
    foundBy: ['status'],
    plant: () => naming((answer, name) => (name === 'Status' ? { ...answer, outcome: 'accepted' } : answer)),
  },
  {
    what: 'says running for ever after a restart in the middle',
    foundBy: ['restart-while-it-runs'],
    plant() {
      // Recovery ends it refused; this device does not look.
      return naming((answer, name) => {
        const isCut = answer['report']?.reason?.includes('interrupted') || answer['reason']?.includes('interrupted');
        if (!isCut) return answer;
        return name === 'Recall' ? { ...answer, report: { state: 'running' } } : undefined;
      });
    },
  },
  {
    what: 'knows no other kind than its own',
    foundBy: ['presence-at-connect'],
    plant: () => ({ presence: ({ kind: _kind, ...presence }) => presence }),
  },
  {
    what: 'answers an unknown name with refused',
    foundBy: ['unknown-name'],
    plant: () => naming((answer, name) => (name === 'Juggle' ? { ...answer, outcome: 'refused' } : answer)),
  },
  {
    what: 'buries nothing and everything when no target is named',
    foundBy: ['no-target'],
    plant: () =>
      naming((answer, name, args) => (name === 'Recall' && args['target'] === undefined ? { ...answer, outcome: 'done' } : answer)),
  },
  {
    what: 'tells another report by Recall than it answered',
    foundBy: ['recall-final'],
    plant: () =>
      naming((answer, name) =>
        name === 'Recall' && answer['report']?.report ? { ...answer, report: { ...answer['report'], report: {} } } : answer,
      ),
  },
  {
    what: 'does not know what it did last',
    foundBy: ['last-transaction', 'questions-while-it-runs'],
    plant: () => naming((answer, name) => (name === 'LastTransaction' ? { ...answer, report: { state: 'none' } } : answer)),
  },
  {
    what: 'refunds twice',
    foundBy: ['gives-back'],
    plant: (hands) => {
      const names = new Map<string, string>();
      const fault = forgetting(hands, ({ id, outcome }) => outcome === 'done' && names.get(id) === 'Refund');
      return {
        ...fault,
        command(command, channel) {
          names.set(command['id'], command['name']);
          return fault.command?.(command, channel);
        },
      };
    },
  },
  {
    what: 'closes the day without figures',
    foundBy: ['books-open'],
    plant: () => naming((answer, name) => (name === 'CloseDay' && answer['report'] ? { ...answer, report: { count: 1 } } : answer)),
  },
  {
    what: 'makes an X report without totals',
    kind: 'register',
    foundBy: ['totals-open'],
    plant: () => naming((answer, name) => (name === 'Report' && answer['report'] ? { ...answer, report: { number: 1 } } : answer)),
  },
];
