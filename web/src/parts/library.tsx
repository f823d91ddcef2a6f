// The provider that the library's components need. It wraps each of them instead of the whole cabinet, so that a browser loads the
// library with the first dialog or list, not before the first page.
import { createTheme, localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import type { ReactNode } from 'react';
import { schemeKey } from '../theme/scheme.ts';

const theme = createTheme({ fontFamily: 'var(--sans)', cursorType: 'pointer' });
const colourScheme = localStorageColorSchemeManager({ key: schemeKey });

/** No style is written into the page: the content policy forbids it, and theme/ has them all as files. */
export function Library({ children }: { children: ReactNode }) {
  return (
    <MantineProvider
      theme={theme}
      colorSchemeManager={colourScheme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      {children}
    </MantineProvider>
  );
}
