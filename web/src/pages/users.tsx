// Users: invited by a one-time link, changed, removed. No user can grant more than the own role; the last operator stays.
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChange, useRead } from '../api/query.ts';
import { type Role, useViewer } from '../api/session.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icons.tsx';
import { Pager } from '../parts/list.tsx';
import { PageHead, Read } from '../parts/page.tsx';
import { RowMenu } from '../parts/row-menu.tsx';
import { SecretDialog } from '../parts/secret-dialog.tsx';
import { State } from '../parts/state-mark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useFilters } from '../parts/use-filters.ts';
import { Moment } from '../parts/values.tsx';
import { InviteUser, type ListedUser } from './invite-user.tsx';

type Doing =
  | { kind: 'role'; role: Role }
  | { kind: 'active'; isActive: boolean }
  | { kind: 'remove' }
  | { kind: 'link' }
  | { kind: 'codes' };

export function Users() {
  const { t } = useTranslation();
  const { scope, may, session } = useViewer();
  const filters = useFilters();
  const users = useRead<{ users: ListedUser[]; next?: string }>('/users', { ...scope, cursor: filters.cursor }, { keepsPrevious: true });
  const [isInviting, setIsInviting] = useState(false);
  const [doing, setDoing] = useState<{ user: ListedUser; what: Doing }>();
  const [link, setLink] = useState<string>();
  const isOperator = session.user.role === 'operator';

  const actionsOf = (user: ListedUser) => {
    const to = (what: Doing) => () => setDoing({ user, what });
    const roles: Role[] = isOperator ? ['operator', 'merchant', 'viewer'] : ['merchant', 'viewer'];
    return [
      ...(isOperator || user.state === 'invited' ? [{ word: t('users.link.button'), run: to({ kind: 'link' }) }] : []),
      ...(isOperator && user.hasTotp ? [{ word: t('users.codes.button'), run: to({ kind: 'codes' }) }] : []),
      ...roles
        .filter((role) => role !== user.role && (role !== 'merchant' || user.merchantId !== undefined))
        .map((role) => ({ word: t('users.role.button', { role: t(`role.${role}`) }), run: to({ kind: 'role', role }) })),
      user.state === 'disabled'
        ? { word: t('users.active.on'), run: to({ kind: 'active', isActive: true }) }
        : { word: t('users.active.off'), run: to({ kind: 'active', isActive: false }) },
      { word: t('users.remove.button'), run: to({ kind: 'remove' }), isDanger: true },
    ];
  };
  const columns: Column<ListedUser>[] = [
    {
      head: t('users.name'),
      cell: (user) => (
        <>
          <span className="strong">{user.name}</span>
          {user.id === session.user.id && <span className="faint"> · {t('users.you')}</span>}
        </>
      ),
    },
    { head: t('signIn.email'), cell: (user) => user.email },
    { head: t('users.roleHead'), cell: (user) => t(`role.${user.role}`) },
    { head: t('users.sees'), cell: (user) => <span className="second">{user.merchantName ?? t('shell.allMerchants')}</span> },
    {
      head: t('list.state'),
      cell: (user) => <State state={user.state === 'invited' ? 'pending' : user.state} word={t(`users.state.${user.state}`)} />,
    },
    { head: t('users.totp'), cell: (user) => t(user.hasTotp ? 'users.totpOn' : 'users.totpOff') },
    { head: t('keys.created'), cell: (user) => <Moment at={user.createdAt} /> },
    {
      head: t('list.actions'),
      className: 'right',
      cell: (user) => (may('users') ? <RowMenu label={t('list.actionsOf', { name: user.name })} actions={actionsOf(user)} /> : null),
    },
  ];
  return (
    <>
      <PageHead name={t('page.users')} sub={t('users.sub')}>
        {may('users') && (
          <button type="button" className="btn primary" onClick={() => setIsInviting(true)}>
            <Icon name="plus" />
            {t('users.invite.button')}
          </button>
        )}
      </PageHead>
      <Read of={users}>
        {(list) => (
          <>
            <Table label={t('page.users')} columns={columns} rows={list.users} keyOf={(user) => user.id} />
            <Pager filters={filters} next={list.next} shown={list.users.length} hasKeys={false} />
          </>
        )}
      </Read>
      {isInviting && <InviteUser onClose={() => setIsInviting(false)} onMade={setLink} />}
      {doing && <DoToUser {...doing} onClose={() => setDoing(undefined)} onLink={setLink} />}
      {link !== undefined && (
        <SecretDialog title={t('users.shown.title')} meaning={t('users.shown.meaning')} secret={link} onClose={() => setLink(undefined)} />
      )}
    </>
  );
}

function DoToUser({ user, what, onClose, onLink }: { user: ListedUser; what: Doing; onClose: () => void; onLink: (link: string) => void }) {
  const { t } = useTranslation();
  const change = useChange<{ link?: string }>(['/users', '/audit', '/session'], ({ link }) => {
    onClose();
    if (link !== undefined) onLink(link);
  });
  const key = what.kind === 'active' ? (what.isActive ? 'users.active.enable' : 'users.active.disable') : `users.${what.kind}`;
  const run = () => {
    const path = `/users/${user.id}`;
    if (what.kind === 'link') change.mutate({ path: `${path}/link` });
    else if (what.kind === 'remove') change.mutate({ method: 'DELETE', path });
    else if (what.kind === 'codes') change.mutate({ method: 'PATCH', path, body: { totp: false } });
    else change.mutate({ method: 'PATCH', path, body: what.kind === 'role' ? { role: what.role } : { isActive: what.isActive } });
  };
  const role = what.kind === 'role' ? t(`role.${what.role}`) : '';
  return (
    <AskDialog
      title={t(`${key}.title`, { name: user.name, role })}
      consequence={t(`${key}.consequence`, { name: user.name, role })}
      action={t(`${key}.do`)}
      isDanger={what.kind === 'remove'}
      isRunning={change.isPending}
      error={change.error}
      onClose={onClose}
      onConfirm={run}
    >
      {null}
    </AskDialog>
  );
}
