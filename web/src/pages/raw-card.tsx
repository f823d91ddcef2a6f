// The raw request, report and answer, without the key and with masked card numbers, as the gateway stores them.
import { Fragment, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { RawTexts } from '../api/sale.ts';

type Part = 'request' | 'report' | 'decision' | 'answer';
const parts: Part[] = ['request', 'report', 'decision', 'answer'];

export function RawCard({ raw }: { raw: RawTexts }) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState<Part | 'all'>('all');
  const there = parts.filter((part) => raw[part] !== undefined && raw[part] !== null);
  if (there.length === 0) return null;
  return (
    <section className="card">
      <header>
        <h2 className="grow">{t('raw.title')}</h2>
        <div className="segments" role="group" aria-label={t('raw.title')}>
          {(['all', ...there] as const).map((part) => (
            <button key={part} type="button" aria-pressed={chosen === part} onClick={() => setChosen(part)}>
              {t(`raw.${part}`)}
            </button>
          ))}
        </div>
      </header>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it */}
      <div className="raw" tabIndex={0} role="region" aria-label={t('raw.title')}>
        {there
          .filter((part) => chosen === 'all' || chosen === part)
          .map((part) => (
            <pre key={part} className="code">
              <span className="remark">{t(`raw.${part}Of`)}</span>
              {'\n'}
              <Json value={parsed(raw[part])} />
            </pre>
          ))}
      </div>
    </section>
  );
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** JSON with its parts in colour, indented by two. */
export function Json({ value, depth = 0 }: { value: unknown; depth?: number }): ReactNode {
  const pad = '  '.repeat(depth + 1);
  if (value === null || typeof value !== 'object') {
    const isText = typeof value === 'string';
    return <span className={isText ? 'json-text' : 'json-number'}>{depth === 0 && isText ? value : JSON.stringify(value)}</span>;
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return isList ? '[]' : '{}';
  return (
    <>
      {isList ? '[' : '{'}
      {entries.map(([name, inner], index) => (
        <Fragment key={name}>
          {`\n${pad}`}
          {!isList && <span className="key">{`"${name}": `}</span>}
          <Json value={inner} depth={depth + 1} />
          {index < entries.length - 1 ? ',' : ''}
        </Fragment>
      ))}
      {`\n${'  '.repeat(depth)}${isList ? ']' : '}'}`}
    </>
  );
}
