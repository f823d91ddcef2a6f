// Filters under a name, kept in this browser: a list for daily use is one click away.
import { Popover } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useSearchParams } from 'wouter';
import { Icon } from './icons.tsx';
import { Library } from './library.tsx';

interface SavedView {
  name: string;
  query: string;
}

const maxViews = 20;
const keyOf = (base: string) => `tillgate.views${base.replace('/', '.')}`;

function readViews(base: string): SavedView[] {
  try {
    const kept = JSON.parse(localStorage.getItem(keyOf(base)) ?? '[]') as SavedView[];
    return Array.isArray(kept) ? kept.filter(({ name, query }) => typeof name === 'string' && typeof query === 'string') : [];
  } catch {
    return [];
  }
}

export function SavedViews({ base }: { base: string }) {
  const { t } = useTranslation();
  const [, go] = useLocation();
  const [params] = useSearchParams();
  const [isOpen, setIsOpen] = useState(false);
  const [views, setViews] = useState(() => readViews(base));
  const [name, setName] = useState('');
  const keep = (next: SavedView[]) => {
    localStorage.setItem(keyOf(base), JSON.stringify(next));
    setViews(next);
  };
  const query = () => {
    const own = new URLSearchParams(params);
    own.delete('cursor');
    return own.toString();
  };
  return (
    <Library>
      <Popover opened={isOpen} onChange={setIsOpen} position="bottom-end" transitionProps={{ duration: 0 }} trapFocus>
        <Popover.Target>
          <button type="button" className="btn plain" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            <Icon name="down" size={14} />
            {t('views.button')}
          </button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t('views.button')}>
          <div className="menu-list">
            {views.map((view) => (
              <span key={view.name} className="row">
                <button
                  type="button"
                  className="grow"
                  onClick={() => {
                    go(`${base}?${view.query}`);
                    setIsOpen(false);
                  }}
                >
                  {view.name}
                </button>
                <button
                  type="button"
                  className="narrow"
                  aria-label={t('views.remove', { name: view.name })}
                  onClick={() => keep(views.filter((one) => one !== view))}
                >
                  <Icon name="close" size={14} />
                </button>
              </span>
            ))}
            {views.length === 0 && <p className="small second">{t('views.none')}</p>}
          </div>
          <form
            className="menu-form"
            onSubmit={(event) => {
              event.preventDefault();
              if (name.trim() === '') return;
              keep([...views.filter((one) => one.name !== name.trim()), { name: name.trim(), query: query() }].slice(-maxViews));
              setName('');
            }}
          >
            <label className="field">
              <span>{t('views.name')}</span>
              <input className="input" maxLength={60} value={name} onChange={(event) => setName(event.target.value)} />
            </label>
            <button type="submit" className="btn primary">
              {t('views.save')}
            </button>
          </form>
        </Popover.Dropdown>
      </Popover>
    </Library>
  );
}
