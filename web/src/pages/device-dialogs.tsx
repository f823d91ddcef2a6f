// Actions on a device, each with its consequence shown first: register, pair, new secret, rename, disable, and ask.
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Answers } from '../api/answers.ts';
import { ApiError } from '../api/client.ts';
import { useChange } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { AskDialog, Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { MerchantField } from '../parts/merchant-field.tsx';
import { QrCode } from '../parts/qr-code.tsx';
import { SecretDialog } from '../parts/secret-dialog.tsx';
import { ExactMoment } from '../parts/values.tsx';
import { DeviceReport } from './device-report.tsx';
import { newKey } from './sale-steps.tsx';

export type Device = Answers['listDevices']['devices'][number];

export type DeviceAsk = 'status' | 'lastTransaction' | 'closeDay' | 'xReport' | 'zReport';

type SimpleKind = 'rename' | 'pair' | 'secret' | 'enable' | 'disable' | 'hardware-lost';

export type DeviceTask = { kind: 'register' } | { kind: SimpleKind; device: Device } | { kind: 'ask'; device: Device; ask: DeviceAsk };

type Pairing = Answers['issuePairingCode'];

const refreshed = ['/devices', '/audit', '/commands', '/day-close'];

export function DeviceDialog({ task, banks, onClose }: { task: DeviceTask; banks: { code: string; name: string }[]; onClose: () => void }) {
  const { t } = useTranslation();
  const [pairing, setPairing] = useState<Pairing>();
  const [secret, setSecret] = useState<string>();
  if (pairing) return <PairingDialog pairing={pairing} onClose={onClose} />;
  if (secret !== undefined)
    return <SecretDialog title={t('devices.secret.title')} meaning={t('devices.secret.meaning')} secret={secret} onClose={onClose} />;
  if (task.kind === 'register') return <RegisterDevice banks={banks} onClose={onClose} onMade={setPairing} />;
  if (task.kind === 'ask') return <AskDevice device={task.device} ask={task.ask} onClose={onClose} />;
  return <SimpleTask task={task} onClose={onClose} onPairing={setPairing} onSecret={setSecret} />;
}

interface SimpleTaskProps {
  task: { kind: SimpleKind; device: Device };
  onClose: () => void;
  onPairing: (pairing: Pairing) => void;
  onSecret: (secret: string) => void;
}

function SimpleTask({ task, onClose, onPairing, onSecret }: SimpleTaskProps) {
  const { t } = useTranslation();
  const { kind, device } = task;
  const [name, setName] = useState(device.name);
  const [reason, setReason] = useState('');
  const change = useChange<Partial<Pairing & { secret: string }>>(refreshed, (fields) => {
    if (fields.pairingCode !== undefined) onPairing(fields as Pairing);
    else if (fields.secret === undefined) onClose();
    else onSecret(fields.secret);
  });
  const isLost = kind === 'hardware-lost';
  const path = `/devices/${device.id}/${kind === 'pair' ? 'pairing' : kind}`;
  return (
    <AskDialog
      title={t(`devices.${kind}.title`, { name: device.name })}
      consequence={isLost ? <LostConsequence device={device} /> : t(`devices.${kind}.consequence`)}
      action={t(`devices.${kind}.do`)}
      isDanger={kind === 'disable' || isLost}
      isRunning={change.isPending}
      isBlocked={(kind === 'rename' && name.trim() === '') || (isLost && (reason.trim() === '' || device.releasedIfLost === undefined))}
      error={change.error}
      onClose={onClose}
      onConfirm={() =>
        change.mutate({ path, body: kind === 'rename' ? { name: name.trim() } : isLost ? { reason: reason.trim() } : undefined })
      }
    >
      {kind === 'rename' && (
        <Field label={t('devices.name')}>
          <input className="input" data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
      )}
      {isLost && (
        <Field label={t('act.reason')} hint={t('act.reasonHint')}>
          <textarea className="input" data-autofocus maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
        </Field>
      )}
    </AskDialog>
  );
}

/** What is released, and that an absent device counts as lost as a whole. */
function LostConsequence({ device: { liveOn, lastSeenAt, releasedIfLost } }: { device: Device }) {
  const { t } = useTranslation();
  if (releasedIfLost === undefined) return t('devices.hardware-lost.none');
  return (
    <>
      {t('devices.hardware-lost.consequence')} <b>{t('devices.hardware-lost.releases', { count: releasedIfLost })}</b>{' '}
      {liveOn.length === 0 && lastSeenAt !== undefined && t('devices.hardware-lost.offline', { since: lastSeenAt })}
    </>
  );
}

function PairingDialog({ pairing, onClose }: { pairing: Pairing; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog title={t('devices.pairing.title')} onClose={onClose} isHeld>
      <div className="stack wide">
        <p className="second">{t('devices.pairing.meaning')}</p>
        <div className="pairing">
          <QrCode text={pairing.pairingCode} label={t('devices.pairing.qr')} />
          <div>
            <b>{pairing.pairingCode}</b>
            <p className="small second">
              {t('devices.pairing.until')} <ExactMoment at={pairing.pairingExpiresAt} />
            </p>
          </div>
        </div>
        <div className="dialog-foot">
          <button type="button" className="btn primary" onClick={onClose}>
            {t('dialog.done')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function RegisterDevice({
  banks,
  onClose,
  onMade,
}: {
  banks: { code: string; name: string }[];
  onClose: () => void;
  onMade: (pairing: Pairing) => void;
}) {
  const { t } = useTranslation();
  const { merchantId } = useViewer();
  const [owner, setOwner] = useState(merchantId ?? '');
  const [kind, setKind] = useState<'terminal' | 'register'>('terminal');
  const [name, setName] = useState('');
  const [bank, setBank] = useState(banks[0]?.code ?? '');
  const [shop, setShop] = useState('');
  const make = useChange<Pairing>(refreshed, onMade);
  const body = {
    merchantId: owner,
    kind,
    name: name.trim(),
    ...(kind === 'terminal' && bank !== '' ? { bank } : {}),
    ...(shop.trim() === '' ? {} : { pointOfSalesCode: shop.trim() }),
  };
  return (
    <AskDialog
      title={t('devices.register.title')}
      consequence={t('devices.register.consequence')}
      action={t('devices.register.do')}
      isRunning={make.isPending}
      isBlocked={name.trim() === '' || owner === ''}
      error={make.error}
      onClose={onClose}
      onConfirm={() => make.mutate({ path: '/devices', body })}
    >
      <MerchantField value={owner} onChange={setOwner} />
      <Field label={t('devices.kind')}>
        <select className="input" value={kind} onChange={(event) => setKind(event.target.value as 'terminal' | 'register')}>
          <option value="terminal">{t('deviceKind.terminal')}</option>
          <option value="register">{t('deviceKind.register')}</option>
        </select>
      </Field>
      <Field label={t('devices.name')}>
        <input className="input" data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      {kind === 'terminal' && (
        <Field label={t('list.bank')}>
          <select className="input" value={bank} onChange={(event) => setBank(event.target.value)}>
            {banks.map((one) => (
              <option key={one.code} value={one.code}>
                {one.name}
              </option>
            ))}
          </select>
        </Field>
      )}
      <Field label={t('devices.shop')} hint={t('devices.shopHint')}>
        <input className="input" maxLength={100} value={shop} onChange={(event) => setShop(event.target.value)} />
      </Field>
    </AskDialog>
  );
}

export function AskDevice({ device, ask, onClose }: { device: Pick<Device, 'id' | 'name'>; ask: DeviceAsk; onClose: () => void }) {
  const { t } = useTranslation();
  const [key] = useState(newKey);
  const [answer, setAnswer] = useState<{ report?: string }>();
  const run = useChange<{ report?: string }>(refreshed, setAnswer);
  const reads = ask === 'status';
  const send = useEffectEvent(() => run.mutate({ path: `/devices/${device.id}/${ask}`, headers: { 'idempotency-key': key } }));
  // Reading changes nothing, so it needs no confirmation.
  const isSent = useRef(false);
  useEffect(() => {
    if (!reads || isSent.current) return;
    isSent.current = true;
    send();
  }, [reads]);
  if (answer) {
    return (
      <Dialog title={t(`devices.ask.${ask}.title`, { name: device.name })} onClose={onClose}>
        <div className="stack wide">
          <p className="note tone-ok">{t('devices.answered')}</p>
          <DeviceReport report={answer.report ?? '{}'} />
        </div>
      </Dialog>
    );
  }
  const holder = run.error instanceof ApiError ? run.error.holder : undefined;
  if (reads) {
    return (
      <Dialog title={t(`devices.ask.${ask}.title`, { name: device.name })} onClose={onClose}>
        {run.error ? (
          <p className="note tone-bad" role="alert">
            {run.error.message}
          </p>
        ) : (
          <p className="second" role="status">
            {t('dialog.running')}
          </p>
        )}
      </Dialog>
    );
  }
  return (
    <AskDialog
      title={t(`devices.ask.${ask}.title`, { name: device.name })}
      consequence={t(`devices.ask.${ask}.consequence`)}
      action={t(`devices.ask.${ask}.do`)}
      isRunning={run.isPending}
      error={run.error}
      errorLink={
        holder && (
          <Link className="link" href={`/${ask === 'closeDay' ? 'payments' : 'fiscal'}/${holder.id}`} onClick={onClose}>
            {t(`command.${holder.name}`, { defaultValue: holder.name })} {holder.id.slice(0, 8)}
          </Link>
        )
      }
      onClose={onClose}
      onConfirm={send}
    >
      {null}
    </AskDialog>
  );
}
