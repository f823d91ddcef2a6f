// The result of a Vitest run, file by file, and the effect of the second run of its failed files [D132].
// Vitest takes the default export as a reporter, which writes the report to the file that TILLGATE_TEST_REPORT names.
import { readFileSync, writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export interface TestReport {
  files: FileReport[];
  /** Errors outside of every test, in files that did not fail: no second run explains them. */
  strayErrors: number;
}

export interface FileReport {
  path: string;
  passed: number;
  /** Names of tests; for a file that could not be loaded, its path. */
  failed: string[];
  /** Of its tests and its hooks. */
  durationMs: number;
}

/** More than that is not caused by a busy machine. */
const filesTriedAgainAtMost = 10;

/** The files that may be run once more, alone: none if too many failed, or if an error belongs to no file. */
export function secondTry({ files, strayErrors }: TestReport): string[] {
  const failed = files.filter((file) => file.failed.length > 0).map(({ path }) => path);
  return strayErrors > 0 || failed.length > filesTriedAgainAtMost ? [] : failed;
}

/** The first run, with the second results of the files that were run again. */
export function afterSecondTry(first: TestReport, second: TestReport): TestReport {
  const again = new Map(second.files.map((file) => [file.path, file]));
  return { files: first.files.map((file) => again.get(file.path) ?? file), strayErrors: first.strayErrors + second.strayErrors };
}

/** Two parts of one run. */
export function together(one: TestReport, other: TestReport): TestReport {
  return { files: [...one.files, ...other.files], strayErrors: one.strayErrors + other.strayErrors };
}

/** Files that ran on the old core before, so their rows and failures say where they belong. */
export function onNewCore({ files, strayErrors }: TestReport): TestReport {
  const named = (name: string) => `${name} (new core)`;
  return { files: files.map((file) => ({ ...file, path: named(file.path), failed: file.failed.map(named) })), strayErrors };
}

export function failedTests({ files }: TestReport): string[] {
  return files.flatMap(({ failed }) => failed);
}

const slowestShown = 10;

/** The slowest files, as a help to shorten the run; none for a short run. */
export function slowest({ files }: TestReport): string[] {
  const totalMs = files.reduce((sum, { durationMs }) => sum + durationMs, 0);
  if (files.length <= slowestShown) return [];
  const rows = [...files].sort((one, other) => other.durationMs - one.durationMs).slice(0, slowestShown);
  const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  return [
    `${inSeconds(totalMs)} in all files together, and longest in:`,
    ...rows.map((file) => `  ${inSeconds(file.durationMs)} ${file.path}`),
  ];
}

/** Always the last line of a run, so that a CI can count: a run that failed counts one failure at least. */
export function countLine(report: TestReport, hasFailed: boolean): string {
  const passed = report.files.reduce((sum, file) => sum + file.passed, 0);
  const failed = failedTests(report).length + report.strayErrors;
  return `${passed} passed, ${hasFailed ? Math.max(1, failed) : failed} failed`;
}

/** A Vitest that died before it could report has reported nothing; its exit code makes that a failure. */
export function readReport(path: string): TestReport {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as TestReport;
  } catch {
    return { files: [], strayErrors: 0 };
  }
}

function fileReport(module: TestModule): FileReport {
  const path = module.relativeModuleId;
  const failed = [...module.children.allTests('failed')].map(({ fullName }) => `${path} > ${fullName}`);
  // All its tests may have passed while a hook failed.
  const passed = [...module.children.allTests('passed')].length;
  return { path, passed, failed: failed.length > 0 || module.ok() ? failed : [path], durationMs: module.diagnostic().duration };
}

// oxlint-disable-next-line no-default-export -- so Vitest finds a reporter
export default class ReportToFile implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly (SerializedError & { VITEST_TEST_PATH?: string })[]): void {
    const path = process.env['TILLGATE_TEST_REPORT'];
    if (path === undefined) throw new Error('TILLGATE_TEST_REPORT does not say where to write the report.');
    const failed = modules.filter((module) => fileReport(module).failed.length > 0).map(({ moduleId }) => moduleId);
    // A failing test may cause a later error.
    const stray = unhandled.filter(({ VITEST_TEST_PATH: from }) => from === undefined || !failed.includes(from));
    const report: TestReport = { files: modules.map(fileReport), strayErrors: stray.length };
    writeFileSync(path, JSON.stringify(report));
  }
}
