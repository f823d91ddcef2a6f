// For ERP developers: the API with a form to try each call, error codes, magic amounts, and the device protocol.
import './developers.css';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { basePath } from '../api/client.ts';
import { useRead } from '../api/query.ts';
import { useViewer } from '../api/session.tsx';
import { PageHead, Read } from '../parts/page.tsx';
import { type OpenApi, type Operation, operationsOf } from './openapi-reading.ts';
import { type DeveloperFacts, TryCall } from './try-call.tsx';

export function Developers() {
  const { t } = useTranslation();
  const { session } = useViewer();
  const facts = useRead<DeveloperFacts>('/developers');
  const document = useQuery<OpenApi>({
    queryKey: ['openapi.json'],
    staleTime: Infinity,
    queryFn: async ({ signal }) => (await (await fetch(`${basePath}/openapi.json`, { signal })).json()) as OpenApi,
  });
  // A link may name a call.
  const [chosen, setChosen] = useState(() => new URLSearchParams(location.search).get('call') ?? '');
  return (
    <>
      <PageHead name={t('page.developers')} sub={t(session.isSandbox ? 'developers.subSandbox' : 'developers.sub')}>
        <a className="btn" href={`${basePath}/docs`}>
          {t('developers.reference')}
        </a>
        <a className="btn" href={`${basePath}/openapi.json`} download>
          openapi.json
        </a>
      </PageHead>
      <Read of={document}>
        {(api) => {
          const operations = operationsOf(api);
          const tags = [...new Set(operations.map(({ tag }) => tag))];
          const opened = operations.find(({ id }) => id === chosen) ?? operations[0];
          return (
            <div className="dev">
              <nav className="dev-nav" aria-label={t('developers.calls')}>
                {tags.map((tag) => (
                  <div key={tag}>
                    <h2>{tag}</h2>
                    {operations
                      .filter((operation) => operation.tag === tag)
                      .map((operation) => (
                        <button
                          key={operation.id}
                          type="button"
                          {...(operation === opened && chosen !== 'errors' && chosen !== 'magic'
                            ? { 'aria-current': 'true' as const }
                            : {})}
                          onClick={() => setChosen(operation.id)}
                        >
                          <span className="verb">{operation.method}</span>
                          <span className="cut">{operation.path}</span>
                        </button>
                      ))}
                  </div>
                ))}
                <h2>{t('developers.tables')}</h2>
                {(['errors', 'magic', 'devices'] as const).map((name) => (
                  <button
                    key={name}
                    type="button"
                    {...(chosen === name ? { 'aria-current': 'true' as const } : {})}
                    onClick={() => setChosen(name)}
                  >
                    {t(`developers.${name}.title`)}
                  </button>
                ))}
              </nav>
              <div>
                {chosen === 'errors' && <Errors facts={facts.data} api={api} />}
                {chosen === 'magic' && <MagicAmounts facts={facts.data} />}
                {chosen === 'devices' && <DeviceProtocol />}
                {opened && !['errors', 'magic', 'devices'].includes(chosen) && (
                  <OperationView operation={opened} facts={facts.data} isSandbox={session.isSandbox} />
                )}
              </div>
            </div>
          );
        }}
      </Read>
    </>
  );
}

function OperationView({ operation, facts, isSandbox }: { operation: Operation; facts: DeveloperFacts | undefined; isSandbox: boolean }) {
  const { t } = useTranslation();
  return (
    <div className="stack wide">
      <div>
        <h2>{operation.summary}</h2>
        <p className="mono second break">
          {operation.method} {basePath}
          {operation.path}
        </p>
        {operation.description !== undefined && <p className="second">{operation.description}</p>}
      </div>
      <div className="dev-call">
        <TryCall key={`${operation.id} ${facts === undefined}`} operation={operation} facts={facts} isSandbox={isSandbox} />
        <section className="card">
          <header>
            <h2>{t('developers.fields')}</h2>
          </header>
          <div className="inside">
            <table className="plain-table">
              <tbody>
                {operation.fields.map((field) => (
                  <tr key={field.name}>
                    <th scope="row" className="mono">
                      {field.name}
                      {field.isRequired && <span className="tone-bad"> *</span>}
                    </th>
                    <td>
                      <span className="small faint">{field.type}</span>
                      <br />
                      {field.description}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
            {operation.fields.length === 0 && <p className="second">{t('developers.noFields')}</p>}
          </div>
        </section>
      </div>
    </div>
  );
}

function Errors({ facts, api }: { facts: DeveloperFacts | undefined; api: OpenApi }) {
  const { t } = useTranslation();
  const errors = facts?.errors ?? errorsIn(api.info.description);
  return (
    <section className="card">
      <header>
        <h2>{t('developers.errors.title')}</h2>
      </header>
      <div className="inside stack">
        <p className="second">{t('developers.errors.meaning')}</p>
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">errorCode</th>
              <th scope="col">{t('developers.errors.name')}</th>
              <th scope="col">HTTP</th>
              <th scope="col">{t('developers.errors.means')}</th>
            </tr>
          </thead>
          <tbody>
            {errors.map((error) => (
              <tr key={error.code}>
                <td className="num strong">{error.code}</td>
                <td className="mono break">{error.name}</td>
                <td className="num">{error.httpStatus}</td>
                <td>{error.meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Reads the table of errors in the document's description. */
function errorsIn(description: string): { code: number; name: string; httpStatus: number; meaning: string }[] {
  return [...description.matchAll(/^\| (\d+) \| (\w+) \| (\d+) \| (.*) \|$/gm)].map(([, code, name = '', httpStatus, meaning = '']) => ({
    code: Number(code),
    name,
    httpStatus: Number(httpStatus),
    meaning,
  }));
}

function MagicAmounts({ facts }: { facts: DeveloperFacts | undefined }) {
  const { t } = useTranslation();
  return (
    <section className="card">
      <header>
        <h2>{t('developers.magic.title')}</h2>
      </header>
      <div className="inside stack">
        <p className="second">{t('developers.magic.meaning')}</p>
        <table className="plain-table">
          <tbody>
            {facts?.magicAmounts?.map((magic) => (
              <tr key={magic.amount}>
                <th scope="row" className="num">
                  {magic.amount}
                </th>
                <td>{t(`deviceKind.${magic.kind}`)}</td>
                <td>
                  <code>{magic.fault}</code>
                </td>
                <td>{magic.meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function DeviceProtocol() {
  const { t } = useTranslation();
  return (
    <section className="card">
      <header>
        <h2>{t('developers.devices.title')}</h2>
      </header>
      <div className="inside stack">
        <p>{t('developers.devices.meaning')}</p>
        <p className="mono">docs/device-protocol.md · asyncapi/v1.json</p>
        <pre className="code code-box">npm run -s tillgate -- simulate --kind terminal --url {location.origin + basePath} --pair CODE</pre>
      </div>
    </section>
  );
}
