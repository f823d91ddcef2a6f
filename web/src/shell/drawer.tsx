// The navigation of a phone: it slides over the page.
import { Drawer } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Library } from '../parts/library.tsx';
import { Navigation } from './navigation.tsx';
import { MerchantSwitch } from './top-bar.tsx';

export function NavigationDrawer({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Library>
      <Drawer
        opened
        onClose={onClose}
        title={t('shell.menu')}
        closeButtonProps={{ 'aria-label': t('dialog.close') }}
        size={280}
        lockScroll={false}
        transitionProps={{ duration: 0 }}
        className="drawer-nav"
        overlayProps={{ 'data-holds-page': true } as object}
      >
        <MerchantSwitch />
        <Navigation isNarrow={false} isDrawer onLeave={onClose} />
      </Drawer>
    </Library>
  );
}
