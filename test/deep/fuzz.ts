import { afterAll, expect, test } from 'bun:test';
import { createReadStream, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { missingTools } from '../clients/languages/languages.ts';
import { installPython, python, pythonOf } from '../clients/languages/python/python.ts';
import { KNOWN, type KnownFinding } from '../clients/languages/python/refusals.ts';
import { runProgram } from '../clients/languages/runs.ts';
import { readVersions } from '../clients/languages/versions.ts';
import { startSignalbox, temporaryFolder } from '../support/signalbox.ts';
import { effort } from './effort.ts';

/**
 * `npm run test:deep -- fuzz`: schemathesis sends requests to every operation of the OpenAPI document, and compares the answers with
 * it. Each failure must be one of `KNOWN`. `SIGNALBOX_SEED=…` repeats a run.
 */
const { runs, seed, proved } = effort('fuzz', 5, 20);
const HOUR_MS = 3_600_000;
/** Unknown failures that are printed. */
const SHOWN_MAX = 30;

const folder = temporaryFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A failure, with the request and the answer that show it. */
interface Finding {
  readonly check: string;
  readonly operation: string;
  readonly status: number;
  readonly code: string;
  readonly field: string;
  readonly mediaType: string;
  readonly message: string;
  readonly request: string;
}

interface Bytes {
  readonly $base64?: string;
}
interface Scenario {
  readonly recorder?: {
    readonly label: string;
    readonly checks: Readonly<Record<string, readonly { readonly name: string; readonly status: string }[]>>;
    readonly interactions: Readonly<Record<string, Interaction>>;
  };
}
interface Interaction {
  readonly request: { readonly uri: string; readonly body?: Bytes | null };
  readonly response?: {
    readonly status_code: number;
    readonly headers: Readonly<Record<string, readonly string[]>>;
    readonly content?: Bytes | null;
  } | null;
}
interface ErrorAnswer {
  readonly error?: {
    readonly code?: string;
    readonly param?: string | null;
    readonly message?: string;
    /** In the dialect of Anthropic. */
    readonly details?: { readonly error_code?: string; readonly param?: string | null };
  };
}

const textOf = (bytes: Bytes | null | undefined): string => Buffer.from(bytes?.$base64 ?? '', 'base64').toString();

function errorIn(text: string): NonNullable<ErrorAnswer['error']> {
  try {
    return (JSON.parse(text) as ErrorAnswer).error ?? {};
  } catch {
    return {};
  }
}

function findingOf(check: string, operation: string, { request, response }: Interaction): Finding {
  const text = textOf(response?.content);
  const { code, param, message, details } = errorIn(text);
  return {
    check,
    operation,
    status: response?.status_code ?? 0,
    code: details?.error_code ?? code ?? '',
    field: details?.param ?? param ?? '',
    mediaType: response?.headers['content-type']?.[0]?.split(';')[0] ?? '',
    message: message ?? text.slice(0, 300),
    request: `${request.uri.replace(/^https?:\/\/[^/]+/, '')} ${textOf(request.body).slice(0, 600)}`,
  };
}

const isOf = (known: KnownFinding, { check, code, field, mediaType }: Finding): boolean =>
  (known.check ?? 'positive_data_acceptance') === check &&
  (known.code?.test(code) ?? true) &&
  (known.field?.test(field) ?? true) &&
  (known.mediaType === undefined || known.mediaType === mediaType);

/** Reads the report, an event of JSON in each line: tens of megabytes. */
async function readReport(file: string) {
  const findings: Finding[] = [];
  const operations = new Set<string>();
  let cases = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { recorder } = (JSON.parse(line) as { ScenarioFinished?: Scenario }).ScenarioFinished ?? {};
    if (!recorder) continue;
    operations.add(recorder.label);
    cases += Object.keys(recorder.interactions).length;
    for (const [id, checks] of Object.entries(recorder.checks))
      for (const { name, status } of checks)
        if (status === 'failure') findings.push(findingOf(name, recorder.label, recorder.interactions[id]!));
  }
  return { findings, operations: operations.size, cases };
}

const missing = missingTools(python);
if (missing.length > 0) console.log(`left out: this machine has no ${missing.join(' and no ')}`);

test.skipIf(missing.length > 0)(
  'every operation answers as its document says, and refuses only requests that the document forbids',
  async () => {
    await installPython(folder, readVersions().languages.Python ?? {}, ['fuzz']);
    const report = join(folder, 'report');
    mkdirSync(report);
    const box = await startSignalbox({ isProcess: true });
    try {
      const options = ['--checks', 'all', '--phases', 'examples,coverage,fuzzing', '--max-examples', `${runs}`];
      const { code, out, err } = await runProgram(
        {
          command: [
            ...[pythonOf(folder, 'fuzz'), '-m', 'schemathesis.cli', 'run', `${box.url}/docs/json`, ...options],
            ...['--header', `Authorization: Bearer ${box.key}`, '--seed', `${seed}`, '--workers', '2', '--no-shrink'],
            ...['--continue-on-failure', '--generation-database', 'none', '--request-timeout', '60', '--no-color'],
            ...['--report', 'ndjson', '--report-dir', report],
          ],
          cwd: folder,
        },
        {},
        HOUR_MS,
      );
      // 1: there are failures.
      expect({ code, said: code > 1 ? (out + err).slice(-4_000) : '' }).toEqual({ code: Math.min(code, 1), said: '' });
      const [file = ''] = readdirSync(report);
      const { findings, operations, cases } = await readReport(join(report, file));
      const unknown = findings.filter((finding) => !KNOWN.some((known) => isOf(known, finding)));
      const kinds = new Map(
        unknown.map((each) => [[each.check, each.operation, each.code, each.field].join(' '), each]),
      );
      for (const each of [...kinds.values()].slice(0, SHOWN_MAX)) console.log(each);
      expect([...kinds.keys()]).toEqual([]);
      expect(operations).toBeGreaterThan(80);
      proved(`schemathesis: ${cases} requests to ${operations} operations, all answered as the document says`);
    } finally {
      await box.stop();
    }
  },
  HOUR_MS,
);
