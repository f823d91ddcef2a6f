// Merchants: each has its own keys, devices, users and signing secret.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Icon } from '../parts/icons.tsx';
import type { Merchant } from '../parts/merchant-field.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { SecretDialog } from '../parts/secret-dialog.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useNewDialog } from '../parts/use-filters.ts';
import { Copyable, Moment } from '../parts/values.tsx';

export function Merchants() {
  const { t } = useTranslation();
  const { may, merchantId, chooseMerchant, session } = useViewer();
  const merchants = useRead<{ merchants: Merchant[] }>('/merchants');
  const [isCreating, setIsCreating] = useNewDialog(may('merchants'));
  const [secret, setSecret] = useState<string>();
  const columns: Column<Merchant>[] = [
    { head: t('merchants.name'), cell: (merchant) => <span className="strong">{merchant.name}</span> },
    { head: t('keys.created'), cell: (merchant) => <Moment at={merchant.createdAt} /> },
    { head: t('keys.id'), cell: (merchant) => <Copyable text={merchant.id} /> },
    {
      head: t('list.actions'),
      className: 'right',
      cell: (merchant) =>
        session.user.merchantId !== undefined ? null : (
          <button
            type="button"
            className="btn compact"
            onClick={() => chooseMerchant(merchant.id === merchantId ? undefined : merchant.id)}
          >
            {t(merchant.id === merchantId ? 'merchants.seeAll' : 'merchants.seeOnly')}
          </button>
        ),
    },
  ];
  return (
    <>
      <PageHead name={t('page.merchants')} sub={t('merchants.sub')}>
        {may('merchants') && (
          <button type="button" className="btn primary" onClick={() => setIsCreating(true)}>
            <Icon name="plus" />
            {t('merchants.create.button')}
          </button>
        )}
      </PageHead>
      <Read of={merchants}>
        {(list) =>
          list.merchants.length === 0 ? (
            <Blank icon="merchants" title={t('merchants.empty.title')}>
              <p>{t('merchants.empty.hint')}</p>
            </Blank>
          ) : (
            <Table
              label={t('page.merchants')}
              columns={columns}
              rows={list.merchants}
              keyOf={(merchant) => merchant.id}
              isChosen={(merchant) => merchant.id === merchantId}
            />
          )
        }
      </Read>
      {isCreating && <CreateMerchant onClose={() => setIsCreating(false)} onMade={setSecret} />}
      {secret !== undefined && (
        <SecretDialog
          title={t('merchants.secret.title')}
          meaning={t('merchants.secret.meaning')}
          secret={secret}
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  );
}

function CreateMerchant({ onClose, onMade }: { onClose: () => void; onMade: (secret: string) => void }) {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const make = useChange<{ callbackSecret: string }>(['/merchants', '/audit'], ({ callbackSecret }) => {
    onClose();
    onMade(callbackSecret);
  });
  return (
    <AskDialog
      title={t('merchants.create.title')}
      consequence={t('merchants.create.consequence')}
      action={t('merchants.create.do')}
      isRunning={make.isPending}
      isBlocked={name.trim() === ''}
      error={make.error}
      onClose={onClose}
      onConfirm={() => make.mutate({ path: '/merchants', body: { name: name.trim() } })}
    >
      <Field label={t('merchants.name')}>
        <input className="input" data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
    </AskDialog>
  );
}
