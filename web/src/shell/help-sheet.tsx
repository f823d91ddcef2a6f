// What the keys do, and what the shapes mean.
import { useTranslation } from 'react-i18next';
import { useViewer } from '../api/session.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { State } from '../parts/state-mark.tsx';
import { placesOf } from './places.ts';

const keys: [keys: string[], meaning: string][] = [
  [['/'], 'search'],
  [['?'], 'help'],
  [['j', 'k'], 'move'],
  [['Enter'], 'open'],
  [['f'], 'filter'],
  [['n'], 'showNew'],
  [['['], 'narrow'],
];
const states = ['paid', 'waiting', 'unknown', 'notClosed', 'needsPerson', 'declined', 'refunded', 'voided', 'never'];

export function HelpSheet({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { session } = useViewer();
  return (
    <Dialog title={t('help.title')} onClose={onClose} size={640}>
      <div className="stack wide">
        <section className="stack">
          <h2>{t('help.keys')}</h2>
          <ul className="help-grid">
            {keys.map(([pressed, meaning]) => (
              <li key={meaning}>
                <span>{t(`help.key.${meaning}`)}</span>
                <Keys pressed={pressed} />
              </li>
            ))}
            {placesOf(session).map((place) => (
              <li key={place.key}>
                <span>{t(`page.${place.key}`)}</span>
                <Keys pressed={['g', place.letter]} />
              </li>
            ))}
          </ul>
        </section>
        <section className="stack">
          <h2>{t('help.shapes')}</h2>
          <ul className="help-grid">
            {states.map((state) => (
              <li key={state}>
                <State state={state} />
                <span className="small second">{t(`help.state.${state}`)}</span>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </Dialog>
  );
}

function Keys({ pressed }: { pressed: string[] }) {
  return (
    <span className="keys">
      {pressed.map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  );
}
