// What all lists share: the pill for new rows, the pager that keeps its place, j and k, and the order for "next" on an object's page.
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { useKeys } from '../shell/keyboard.ts';
import { Icon } from './icons.tsx';
import type { Filters } from './use-filters.ts';

/** The list that was looked at last: an object's page steps through it. */
let lastList: { base: string; ids: string[]; address: string } | undefined;

export function listAround(base: string, id: string): { back: string; before?: string; after?: string } | undefined {
  if (lastList?.base !== base) return undefined;
  const index = lastList.ids.indexOf(id);
  if (index === -1) return { back: lastList.address };
  const [before, after] = [lastList.ids[index - 1], lastList.ids[index + 1]];
  return {
    back: lastList.address,
    ...(before === undefined ? {} : { before: `${base}/${before}` }),
    ...(after === undefined ? {} : { after: `${base}/${after}` }),
  };
}

const chosenOf = new Map<string, string>();

/** j, k and Enter over rows with ids; remembers the row that was opened, so that Back finds it marked. */
export function useRowKeys(
  base: string,
  ids: string[],
  showNew: () => void,
  hrefOf: (id: string) => string,
): { chosen: string | undefined; open: (id: string) => void } {
  const [path, go] = useLocation();
  const [chosen, setChosen] = useState<string | undefined>(() => chosenOf.get(base));
  useEffect(() => {
    lastList = { base, ids, address: `${path}${location.search}` };
  });
  const choose = (id: string | undefined) => {
    if (id === undefined) return;
    setChosen(id);
    chosenOf.set(base, id);
    document.getElementById(`row-${id}`)?.scrollIntoView({ block: 'nearest' });
  };
  const open = (id: string) => {
    choose(id);
    go(hrefOf(id));
  };
  const at = chosen === undefined ? -1 : ids.indexOf(chosen);
  useKeys({
    j: () => choose(ids[at + 1]),
    k: () => choose(ids[Math.max(0, at - 1)]),
    Enter: () => chosen !== undefined && ids.includes(chosen) && open(chosen),
    n: showNew,
    f: () => document.querySelector<HTMLInputElement>('#filter')?.focus(),
  });
  return { chosen, open };
}

export function NewPill({ count, onShow }: { count: number; onShow: () => void }) {
  const { t } = useTranslation();
  return (
    <button type="button" className="new-pill" onClick={onShow}>
      <Icon name="up" size={14} />
      {t('list.new', { count })}
    </button>
  );
}

// How one came to a page, so that "Newer" leads back; unknown (a link from a colleague) means the first page.
const pageBefore = new Map<string, string | undefined>();

export function Pager({
  filters,
  next,
  shown,
  hasKeys = true,
  children,
}: {
  filters: Filters;
  next: string | undefined;
  shown: number;
  hasKeys?: boolean;
  children?: ReactNode;
}) {
  const { t } = useTranslation();
  const { cursor } = filters;
  // A list that fits one page needs no pages.
  if (!hasKeys && cursor === undefined && next === undefined) return null;
  const turn = (to: string | undefined) => {
    filters.toPage(to);
    window.scrollTo({ top: 0 });
  };
  return (
    <nav className="pager" aria-label={t('list.pages')}>
      <span className="num">{t('list.shown', { count: shown })}</span>
      {children}
      <span className="grow" />
      {hasKeys && (
        <span className="keys">
          <span>
            <kbd>J</kbd>
            <kbd>K</kbd>
            {t('help.key.move')}
          </span>
          <span>
            <kbd>↵</kbd>
            {t('help.key.open')}
          </span>
          <span>
            <kbd>N</kbd>
            {t('help.key.showNew')}
          </span>
          <span>
            <kbd>?</kbd>
            {t('help.key.help')}
          </span>
        </span>
      )}
      <span className="grow" />
      <button
        type="button"
        className="btn compact"
        disabled={cursor === undefined}
        onClick={() => cursor !== undefined && turn(pageBefore.get(cursor))}
      >
        <Icon name="left" size={14} />
        {t('list.newer')}
      </button>
      <button
        type="button"
        className="btn compact"
        disabled={next === undefined}
        onClick={() => {
          if (next === undefined) return;
          pageBefore.set(next, cursor);
          turn(next);
        }}
      >
        {t('list.older')}
        <Icon name="right" size={14} />
      </button>
    </nav>
  );
}
