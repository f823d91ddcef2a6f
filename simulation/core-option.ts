// Imported before all else: which core the days run on is read when the first module asks for it (test/support/core.ts), in every thread.
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { core: { type: 'string' } }, strict: false });
if (values.core === 'old' || values.core === 'new') process.env['TILLGATE_TEST_CORE'] = values.core;
else if (values.core !== undefined) throw new Error('--core is old or new.');
