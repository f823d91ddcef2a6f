// Limits of open files: each device is a connection, and each connection a file. At a broker's limit, logins hang without an error.
import { readFile } from 'node:fs/promises';
import { readNodes } from '../../link/brokers/rabbitmq-connections.ts';
import type { Config } from '../../settings.ts';
import { doubt, type Finding, good, wordsOf } from './finding.ts';

const check = 'open files';
/** Enough for some thousand devices, callers and callbacks. */
const enough = 10_000;
const apiAnswerMs = 5_000;
const fullPart = 0.8;

export async function checkOpenFiles({ rabbitmqApiUrl }: Pick<Config, 'rabbitmqApiUrl'>): Promise<Finding[]> {
  const own = judgeOwnLimit(await readFile('/proc/self/limits', 'utf8').catch(() => ''));
  return [...own, ...(rabbitmqApiUrl === undefined ? [] : await checkRabbitmq(rabbitmqApiUrl))];
}

/** `limits`: as Linux shows them; empty on other systems, and then there is no finding. */
export function judgeOwnLimit(limits: string): Finding[] {
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
  if (soft === undefined) return [];
  if (soft === 'unlimited' || Number(soft) >= enough) return [good(check, `This process may open ${soft} files.`)];
  return [
    doubt(
      check,
      `This process may open ${soft} files: with about as many devices and callers it accepts no more connections.`,
      'Set LimitNOFILE=65536 in the unit, or ulimits.nofile in the compose file.',
    ),
  ];
}

async function checkRabbitmq(apiUrl: string): Promise<Finding[]> {
  try {
    const nodes = await readNodes(apiUrl, AbortSignal.timeout(apiAnswerMs));
    return nodes.map(judgeNode);
  } catch (error) {
    return [doubt(check, `RabbitMQ does not report its limit: ${wordsOf(error)}`, 'Its user needs the tag monitoring or administrator.')];
  }
}

export function judgeNode({ name, filesUsed, filesAtMost }: { name: string; filesUsed: number; filesAtMost: number }): Finding {
  const says = `RabbitMQ ${name} has ${filesUsed} of ${filesAtMost} files open`;
  if (filesAtMost >= enough && filesUsed < filesAtMost * fullPart) return good(check, `${says}.`);
  return doubt(
    check,
    `${says}: logins beyond it hang without an error.`,
    'Raise LimitNOFILE of rabbitmq-server (or ulimits.nofile) to 65536 or more.',
  );
}
