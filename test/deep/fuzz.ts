import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { missingTools } from '../system/clients/languages/languages.ts';
import { installPython, python, pythonOf } from '../system/clients/languages/python/python.ts';
import { isKnown } from '../system/clients/languages/python/refusals.ts';
import { readReport } from '../system/clients/languages/python/report.ts';
import { runProgram } from '../system/clients/languages/runs.ts';
import { readVersions } from '../system/clients/languages/versions.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- fuzz`: schemathesis sends requests to every operation of the OpenAPI document, and compares the answers with the
 * document. Each failure must be in `KNOWN`. `SIGNALBOX_SEED=…` repeats a run.
 */
const { runs, seed, proved } = effort('fuzz', 5, 20);
const HOUR_MS = 3_600_000;
/** The most unknown failures that the test prints. */
const SHOWN_MAX = 30;

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const missing = missingTools(python);
if (missing.length > 0) console.log(`skipped: this machine has no ${missing.join(' and no ')}`);

test.skipIf(missing.length > 0)(
  'every operation answers as the OpenAPI document says, and refuses only requests that the document forbids',
  async () => {
    await installPython(folder, readVersions().languages.Python ?? {}, ['fuzz']);
    const report = join(folder, 'report');
    mkdirSync(report);
    const box = await startSignalbox({ isProcess: true });
    try {
      const options = ['--checks', 'all', '--phases', 'examples,coverage,fuzzing', '--max-examples', `${runs}`];
      // The stream of events has no end.
      const left = ['--exclude-path', '/admin/events'];
      const { code, out, err } = await runProgram(
        {
          command: [
            ...[pythonOf(folder, 'fuzz'), '-m', 'schemathesis.cli', 'run', `${box.url}/docs/json`, ...options, ...left],
            ...['--header', `Authorization: Bearer ${box.key}`, '--seed', `${seed}`, '--workers', '2', '--no-shrink'],
            ...[
              '--continue-on-failure',
              '--generation-database',
              'none',
              '--request-timeout',
              '60',
              '--max-response-time',
              '60',
              '--no-color',
            ],
            ...['--report', 'ndjson', '--report-dir', report],
          ],
          cwd: folder,
        },
        {},
        HOUR_MS,
      );
      // Code 1 means that there are failures.
      expect({ code, said: code > 1 ? (out + err).slice(-4_000) : '' }).toEqual({ code: Math.min(code, 1), said: '' });
      const [file = ''] = readdirSync(report);
      const { findings, operations, cases } = await readReport(join(report, file));
      const unknown = findings.filter((finding) => !isKnown(finding));
      const kinds = new Map(
        unknown.map((each) => [[each.check, each.operation, each.code, each.field].join(' '), each]),
      );
      for (const each of [...kinds.values()].slice(0, SHOWN_MAX)) console.log(each);
      expect([...kinds.keys()]).toEqual([]);
      expect(operations).toBeGreaterThan(80);
      proved(
        `schemathesis: ${cases} requests to ${operations} operations, each answered as the document says or refused for a known reason`,
      );
    } finally {
      await box.stop();
    }
  },
  HOUR_MS,
);
