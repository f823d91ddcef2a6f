// A secret that is shown once: it copies on click, and a click beside the dialog does not close it.
import { useTranslation } from 'react-i18next';
import { Dialog } from './dialog.tsx';
import { Icon } from './icons.tsx';
import { copyText, useBriefly } from './values.tsx';

interface SecretDialogProps {
  title: string;
  meaning: string;
  secret: string;
  note?: string;
  onClose: () => void;
}

export function SecretDialog({ title, meaning, secret, note, onClose }: SecretDialogProps) {
  const { t } = useTranslation();
  const [isCopied, markCopied] = useBriefly();
  return (
    <Dialog title={title} onClose={onClose} isHeld>
      <div className="stack wide">
        <p className="second">{meaning}</p>
        <div className="code-box row">
          <code className="code grow">{secret}</code>
          <button type="button" className="btn compact" onClick={() => void copyText(secret).then(markCopied)}>
            <Icon name={isCopied ? 'check' : 'link'} size={14} />
            {isCopied ? t('copy.done') : t('copy.button')}
          </button>
        </div>
        {note !== undefined && <p className="small second">{note}</p>}
        <div className="dialog-foot">
          <button type="button" className="btn primary" onClick={onClose}>
            {t('secret.kept')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
