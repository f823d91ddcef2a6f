// The program on the new money core [D300], for tests that start processes with TILLGATE_TEST_CORE=new.
import { choice } from '../../src/wiring/core-choice.ts';

choice.core = 'new';
await import('../../bin/tillgate.mjs');
