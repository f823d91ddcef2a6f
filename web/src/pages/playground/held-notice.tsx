// A device that waits for CloseDoc, or whose outcome is open, takes no new operation: this notice explains it and offers to close the document.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { PlayDevice } from '../../api/playground.ts';
import { useChange } from '../../api/query.ts';
import { Icon } from '../../parts/icons.tsx';
import { newKey } from '../sale-steps.tsx';

interface HeldNoticeProps {
  devices: readonly PlayDevice[];
  /** While the till has an operation in progress, that operation locks the device. */
  isIdle: boolean;
  mayClose: boolean;
}

export function HeldNotice({ devices, isIdle, mayClose }: HeldNoticeProps) {
  if (!isIdle) return null;
  return devices.map((device) =>
    device.heldBy ? <Held key={device.heldBy.commandId} device={device} heldBy={device.heldBy} mayClose={mayClose} /> : null,
  );
}

function Held({ device, heldBy, mayClose }: { device: PlayDevice; heldBy: NonNullable<PlayDevice['heldBy']>; mayClose: boolean }) {
  const { t } = useTranslation();
  // One key for this payment: a second click closes it once.
  const [key] = useState(newKey);
  const close = useChange(['/playground', '/commands', '/attention', '/overview']);
  const isDocument = heldBy.documentState === 'open';
  return (
    <div className="note tone-warn row held" role="status">
      <Icon name="lock" size={14} />
      <span className="grow">
        {close.error?.message ??
          t(isDocument ? 'playground.held.document' : 'playground.held.operation', { device: device.name, amount: heldBy.amount ?? 0 })}
      </span>
      {isDocument && mayClose && (
        <button
          type="button"
          className="btn compact"
          disabled={close.isPending}
          onClick={() => close.mutate({ path: `/commands/${heldBy.commandId}/close`, headers: { 'idempotency-key': key } })}
        >
          {t('playground.held.close')}
        </button>
      )}
      <Link className="link" href={`/payments/${heldBy.commandId}`}>
        {t('playground.held.open')}
      </Link>
    </div>
  );
}
