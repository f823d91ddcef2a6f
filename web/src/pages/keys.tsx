// API keys: created, rotated with an overlap, revoked. A key is shown once; afterwards only its name is known.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Answers } from '../api/answers.ts';
import { useChange, useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Icon } from '../parts/icons.tsx';
import { MerchantField, useMerchantNames } from '../parts/merchant-field.tsx';
import { Blank, PageHead, Read } from '../parts/page.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SecretDialog } from '../parts/secret-dialog.tsx';
import { State } from '../parts/state-mark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useNewDialog } from '../parts/use-filters.ts';
import { Copyable, Moment } from '../parts/values.tsx';

type Module = 'POS' | 'QR' | 'Fiscal';
const modules: Module[] = ['POS', 'QR', 'Fiscal'];

type Key = Answers['listKeys']['keys'][number];

type FreshKey = Answers['createKey'];

export function Keys() {
  const { t } = useTranslation();
  const { scope, may } = useViewer();
  const keys = useRead<{ keys: Key[] }>('/keys', { ...scope });
  const merchantName = useMerchantNames();
  const [isCreating, setIsCreating] = useNewDialog(may('setup'));
  const [rotating, setRotating] = useState<Key>();
  const [revoking, setRevoking] = useState<Key>();
  const [fresh, setFresh] = useState<FreshKey>();
  const columns: Column<Key>[] = [
    { head: t('keys.name'), cell: (key) => <span className="strong">{key.name}</span> },
    { head: t('list.state'), cell: (key) => <State state={key.state} /> },
    { head: t('keys.modules'), cell: (key) => key.modules.map((module) => t(`module.${module}`)).join(', '), className: 'wrap' },
    { head: t('list.merchant'), cell: (key) => <span className="second">{merchantName(key.merchantId)}</span> },
    { head: t('keys.created'), cell: (key) => <Moment at={key.createdAt} /> },
    { head: t('keys.expires'), cell: (key) => <Moment at={key.expiresAt} /> },
    { head: t('keys.lastUsed'), cell: (key) => <Moment at={key.lastUsedAt} /> },
    { head: t('keys.id'), cell: (key) => <Copyable text={key.id} /> },
    {
      head: t('list.actions'),
      className: 'right',
      cell: (key) =>
        may('setup') && key.state === 'active' ? (
          <RowMenu
            label={t('list.actionsOf', { name: key.name })}
            actions={[
              { word: t('keys.rotate.button'), run: () => setRotating(key) },
              { word: t('keys.revoke.button'), run: () => setRevoking(key), isDanger: true },
            ]}
          />
        ) : null,
    },
  ];
  return (
    <>
      <PageHead name={t('page.keys')} sub={t('keys.sub')}>
        {may('setup') && (
          <button type="button" className="btn primary" onClick={() => setIsCreating(true)}>
            <Icon name="plus" />
            {t('keys.create.button')}
          </button>
        )}
      </PageHead>
      <Read of={keys}>
        {(list) =>
          list.keys.length === 0 ? (
            <Blank icon="keys" title={t('keys.empty.title')}>
              <p>{t('keys.empty.hint')}</p>
            </Blank>
          ) : (
            <Table label={t('page.keys')} columns={columns} rows={list.keys} keyOf={(key) => key.id} />
          )
        }
      </Read>
      {isCreating && <CreateKey onClose={() => setIsCreating(false)} onMade={setFresh} />}
      {rotating && <RotateKey of={rotating} onClose={() => setRotating(undefined)} onMade={setFresh} />}
      {revoking && <RevokeKey of={revoking} onClose={() => setRevoking(undefined)} />}
      {fresh && (
        <SecretDialog
          title={t('keys.shown.title')}
          meaning={t('keys.shown.meaning')}
          secret={fresh.key}
          onClose={() => setFresh(undefined)}
        />
      )}
    </>
  );
}

interface MakerProps {
  onClose: () => void;
  onMade: (fresh: FreshKey) => void;
}

function CreateKey({ onClose, onMade }: MakerProps) {
  const { t } = useTranslation();
  const { merchantId } = useViewer();
  const [owner, setOwner] = useState(merchantId ?? '');
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<Module[]>(modules);
  const [expires, setExpires] = useState('');
  const make = useChange<FreshKey>(['/keys', '/audit'], (fresh) => {
    onClose();
    onMade(fresh);
  });
  const toggle = (module: Module) => setChosen(chosen.includes(module) ? chosen.filter((one) => one !== module) : [...chosen, module]);
  return (
    <AskDialog
      title={t('keys.create.title')}
      consequence={t('keys.create.consequence')}
      action={t('keys.create.do')}
      isRunning={make.isPending}
      isBlocked={name.trim() === '' || chosen.length === 0 || owner === ''}
      error={make.error}
      onClose={onClose}
      onConfirm={() =>
        make.mutate({
          path: '/keys',
          body: {
            merchantId: owner,
            name: name.trim(),
            modules: chosen,
            ...(expires === '' ? {} : { expiresAt: new Date(`${expires}T23:59:59`).toISOString() }),
          },
        })
      }
    >
      <MerchantField value={owner} onChange={setOwner} />
      <Field label={t('keys.name')} hint={t('keys.nameHint')}>
        <input className="input" data-autofocus maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <fieldset className="field">
        <legend>{t('keys.modules')}</legend>
        {modules.map((module) => (
          <label key={module} className="check">
            <input type="checkbox" checked={chosen.includes(module)} onChange={() => toggle(module)} />
            {t(`module.${module}`)}
          </label>
        ))}
      </fieldset>
      <Field label={t('keys.expires')} hint={t('keys.expiresHint')}>
        <input className="input" type="date" value={expires} onChange={(event) => setExpires(event.target.value)} />
      </Field>
    </AskDialog>
  );
}

const overlapsS = [0, 3_600, 86_400, 604_800];

function RotateKey({ of: key, onClose, onMade }: MakerProps & { of: Key }) {
  const { t } = useTranslation();
  const [overlapS, setOverlapS] = useState(86_400);
  const rotate = useChange<FreshKey>(['/keys', '/audit'], (fresh) => {
    onClose();
    onMade(fresh);
  });
  return (
    <AskDialog
      title={t('keys.rotate.title', { name: key.name })}
      consequence={t('keys.rotate.consequence')}
      action={t('keys.rotate.do')}
      isRunning={rotate.isPending}
      error={rotate.error}
      onClose={onClose}
      onConfirm={() => rotate.mutate({ path: `/keys/${key.id}/rotate`, body: { overlapS } })}
    >
      <Field label={t('keys.rotate.overlap')}>
        <select className="input" value={overlapS} onChange={(event) => setOverlapS(Number(event.target.value))}>
          {overlapsS.map((seconds) => (
            <option key={seconds} value={seconds}>
              {t(`overlap.${seconds}`)}
            </option>
          ))}
        </select>
      </Field>
    </AskDialog>
  );
}

function RevokeKey({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const { t } = useTranslation();
  const revoke = useChange(['/keys', '/audit'], onClose);
  return (
    <AskDialog
      title={t('keys.revoke.title', { name: key.name })}
      consequence={t('keys.revoke.consequence')}
      action={t('keys.revoke.do')}
      isDanger
      isRunning={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate({ path: `/keys/${key.id}/revoke` })}
    >
      {null}
    </AskDialog>
  );
}
