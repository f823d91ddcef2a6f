// The gateways on this database: version, start, clock, connections and queues of each, as of its last heartbeat.
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useRead } from '../api/query.ts';
import { duration } from '../i18n/format.ts';
import { PageHead, Read } from '../parts/page.tsx';
import { State } from '../parts/state-mark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Copyable, Moment } from '../parts/values.tsx';

type Status = NonNullable<Instance['status']>;

type Instance = Answers['listInstances']['instances'][number];

/** As often as an instance writes its state. */
const everyMs = 5_000;
/** As `tillgate doctor` judges clocks. */
const sameClockMs = 2_000;

export function Instances() {
  const { t } = useTranslation();
  const instances = useRead<{ instances: Instance[] }>('/instances', {}, { everyMs });
  const columns: Column<Instance>[] = [
    {
      head: t('instances.state'),
      cell: ({ state }) => <State state={state === 'running' ? 'ok' : 'bad'} word={t(`instances.is.${state}`)} />,
    },
    { head: t('instances.host'), cell: ({ host, pid }) => <span className="strong">{t('instances.process', { host, pid })}</span> },
    { head: t('instances.version'), cell: ({ version }) => version },
    { head: t('instances.started'), cell: ({ startedAt }) => <Moment at={startedAt} /> },
    { head: t('instances.seen'), cell: ({ seenAt }) => <Moment at={seenAt} /> },
    { head: t('instances.clock'), cell: ({ clockOffsetMs }) => <ClockOffset ms={clockOffsetMs} /> },
    { head: t('instances.channels'), cell: ({ status }) => status && <Channels channels={status.channels} /> },
    { head: t('instances.connections'), className: 'wrap', cell: ({ status }) => status && connectionsOf(status, t) },
    { head: t('instances.queues'), className: 'wrap', cell: ({ status }) => status && queuesOf(status, t) },
    { head: t('keys.id'), cell: ({ id }) => <Copyable text={id} /> },
  ];
  return (
    <>
      <PageHead name={t('page.instances')} sub={t('instances.sub')} />
      <Read of={instances}>
        {(list) => <Table label={t('page.instances')} columns={columns} rows={list.instances} keyOf={({ id }) => id} />}
      </Read>
    </>
  );
}

function ClockOffset({ ms }: { ms: number | undefined }) {
  const { t } = useTranslation();
  if (ms === undefined) return <span className="faint">{t('none')}</span>;
  if (Math.abs(ms) <= sameClockMs) return <State state="ok" word={t('instances.clockAgrees')} />;
  return <State state="warn" word={t(ms < 0 ? 'instances.clockBehind' : 'instances.clockAhead', { span: duration(Math.abs(ms), t) })} />;
}

function Channels({ channels }: { channels: Record<string, boolean> }) {
  const { t } = useTranslation();
  return Object.entries(channels).map(([name, isUp]) => (
    <div key={name}>
      <State state={isUp ? 'ok' : 'bad'} word={t(isUp ? 'instances.channelUp' : 'instances.channelDown', { name })} />
    </div>
  ));
}

const connectionsOf = ({ devices, http, database }: Status, t: TFunction) =>
  t('instances.connected', { devices, http, ...database, pool: database.busy + database.idle });

const queuesOf = ({ waitingCalls, commands, callbacks }: Status, t: TFunction) =>
  t('instances.waiting', { calls: waitingCalls, commands, callbacks });
