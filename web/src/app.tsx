// Which page an address means. Pages are loaded when they are first opened; everything above them stays.
import { type ComponentType, lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { type Session, SessionProvider, type User, useSession } from './api/session.tsx';
import { Blank, Loading, Trouble } from './parts/page.tsx';
import { Confirmation } from './shell/confirmation.tsx';
import { LoadFailure, PageGuard } from './shell/page-guard.tsx';
import { Shell } from './shell/shell.tsx';
import { SignIn } from './shell/sign-in.tsx';

/** `name` is the component among what the file exports. */
// oxlint-disable-next-line typescript/no-explicit-any -- the router gives pages no properties, and the type of `lazy` asks for this
function page<Name extends string, Page extends ComponentType<any>>(load: () => Promise<{ [name in Name]: Page }>, name: Name) {
  return lazy(async () => {
    try {
      return { default: (await load())[name] };
    } catch (error) {
      throw new LoadFailure(`The page ${name} could not be loaded.`, { cause: error });
    }
  });
}

const Account = page(() => import('./pages/account.tsx'), 'Account');
const pages: [path: string, component: ComponentType][] = [
  ['/overview', page(() => import('./pages/overview.tsx'), 'Overview')],
  ['/payments', page(() => import('./pages/payments.tsx'), 'Payments')],
  ['/payments/:id', page(() => import('./pages/sale.tsx'), 'Sale')],
  ['/fiscal', page(() => import('./pages/fiscal.tsx'), 'Fiscal')],
  ['/fiscal/:id', page(() => import('./pages/sale.tsx'), 'Sale')],
  ['/invoices', page(() => import('./pages/invoices.tsx'), 'Invoices')],
  ['/invoices/:oid', page(() => import('./pages/invoice.tsx'), 'Invoice')],
  ['/devices', page(() => import('./pages/devices.tsx'), 'Devices')],
  ['/callbacks', page(() => import('./pages/callbacks.tsx'), 'Callbacks')],
  ['/attention', page(() => import('./pages/attention.tsx'), 'Attention')],
  ['/day-close', page(() => import('./pages/day-close.tsx'), 'DayClose')],
  ['/keys', page(() => import('./pages/keys.tsx'), 'Keys')],
  ['/merchants', page(() => import('./pages/merchants.tsx'), 'Merchants')],
  ['/users', page(() => import('./pages/users.tsx'), 'Users')],
  ['/audit', page(() => import('./pages/audit.tsx'), 'Audit')],
  ['/instances', page(() => import('./pages/instances.tsx'), 'Instances')],
  ['/developers', page(() => import('./pages/developers.tsx'), 'Developers')],
  ['/account', Account],
];
/** Where the money is real there is no such page. */
const Playground = page(() => import('./pages/playground/playground.tsx'), 'Playground');
const LinkPage = page(() => import('./shell/link-page.tsx'), 'LinkPage');

export function App() {
  const session = useSession();
  const [path] = useLocation();
  if (path === '/link') {
    return (
      <PageGuard path={path}>
        <Suspense fallback={<Loading />}>
          <LinkPage isSandbox={session.data?.isSandbox === true} />
        </Suspense>
      </PageGuard>
    );
  }
  if (session.data === undefined) return session.error ? <Trouble error={session.error} retry={() => void session.refetch()} /> : null;
  const { user } = session.data;
  if (!user) return <SignIn session={session.data} />;
  return <SignedIn session={{ ...session.data, user }} />;
}

function SignedIn({ session }: { session: Session & { user: User } }) {
  const [path] = useLocation();
  return (
    <SessionProvider session={session}>
      <Confirmation hasTotp={session.user.hasTotp === true}>
        <Shell>
          <PageGuard path={path}>
            <Suspense fallback={<Loading />}>
              <Switch>
                {session.needsTotp === true && <Route component={Account} />}
                <Route path="/">
                  <Redirect to="/overview" replace />
                </Route>
                <Route path="/sign-in">
                  <Redirect to="/overview" replace />
                </Route>
                {pages.map(([pattern, component]) => (
                  <Route key={pattern} path={pattern} component={component} />
                ))}
                {session.isSandbox && <Route path="/playground" component={Playground} />}
                <Route component={NoSuchPage} />
              </Switch>
            </Suspense>
          </PageGuard>
        </Shell>
      </Confirmation>
    </SessionProvider>
  );
}

function NoSuchPage() {
  const { t } = useTranslation();
  return (
    <Blank icon="search" title={t('noPage.title')}>
      <p>{t('noPage.meaning')}</p>
    </Blank>
  );
}
