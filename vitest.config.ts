// Tests run in child processes (worker threads and native handles are part of what is tested), five at a time, because many of them mostly
// wait. A process runs one file after the other and keeps the modules: loading them anew doubled the processor time of quick files [D231].
// Files that need real servers are named *.server.test.ts; `npm run test:embedded` leaves them out.
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { beginningFiles, excludedBy, filesOnNewCore, mixed, type Part, type Selection } from './scripts/test-selection.ts';

// Set by `npm test` and its kind; a file that is given to Vitest itself runs in any case.
const selection = (process.env['TILLGATE_TEST_SELECTION'] ?? 'all') as Selection;
const part = process.env['TILLGATE_TEST_PART'] as Part | undefined;
const beginning = part === 'beginning' || part === 'rest' ? beginningFiles(import.meta.dirname) : [];
const included = { beginning: () => beginning, rest: () => ['test/**/*.test.ts'], 'new core': () => filesOnNewCore(import.meta.dirname) };
const isEmbedded = process.env['TILLGATE_TEST_EMBEDDED'] === '1';

class Mixed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return mixed(await super.sort(files), ({ moduleId }) => moduleId);
  }
}

// oxlint-disable-next-line no-default-export -- vitest reads its settings from the default export
export default defineConfig({
  test: {
    environment: 'node',
    include: included[part ?? 'rest'](),
    exclude: [
      ...configDefaults.exclude,
      ...(isEmbedded ? ['test/**/*.server.test.ts'] : []),
      ...excludedBy(selection),
      ...(part === 'rest' ? beginning : []),
    ],
    pool: 'forks',
    sequence: { sequencer: Mixed },
    maxWorkers: 5,
    isolate: false,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
