import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERRORS } from '../../src/core/errors.ts';
import { GROUPS, isTakenOver } from '../fault/faults.ts';
import { type Charge, type Fault, isRepeatable, type Outcome, verdictOn } from '../fault/outcome.ts';
import { markdownTable } from './table.ts';

const PATH = join(import.meta.dir, '../../docs/operate/provider-faults.md');

/** The faults that the page shows. All other faults are rarer and have one of the same results. */
const SHOWN: readonly string[] = [
  'does not listen',
  'answers 500',
  'answers 503',
  'answers 200 with an error as JSON',
  'answers 404',
  'answers 401',
  'answers 403',
  'answers 429 without saying for how long',
  'answers 400: it refuses the content',
  'answers 400: the prompt is too long',
  'accepts the request and never answers',
  'starts an answer and then sends nothing',
  'closes the connection in the middle of an answer',
  'ends in the middle of an answer as if it were complete',
  'starts an answer and then reports that it is overloaded',
  'reports no usage',
  'reports 5,000 tokens although only 20 were allowed',
];

const CHARGES: Readonly<Record<Charge, string>> = {
  nothing: 'nothing',
  reported: 'reported usage',
  begun: 'usage reported at its beginning',
  completed: 'reported prompt, counted output',
  counted: 'counted usage',
  broken: 'estimate',
  reserved: 'the hold',
};

function resultOf(outcome: Outcome): string {
  switch (outcome.ends) {
    case 'answered':
      return 'the answer';
    case 'failed':
      return `${ERRORS[outcome.code].status} \`${outcome.code}\`${isRepeatable(outcome) ? '' : ', final'}`;
    case 'cut':
      return `a part, then \`${outcome.code}\``;
  }
}

/** Returns a single text if JSON and streams have the same text, else a text for each form. */
function forBoth({ json, stream }: Fault, tell: (outcome: Outcome) => string): string {
  const [ofJson, ofStream] = [tell(json), tell(stream)];
  return ofJson === ofStream ? ofJson : `JSON: ${ofJson}; stream: ${ofStream}`;
}

/** Says which others are not tried after a failure. */
function untriedOf(outcome: Outcome): string {
  if (outcome.ends !== 'failed' || isTakenOver(outcome, 'endpoint')) return '';
  return isTakenOver(outcome, 'fallback') ? '; no other endpoint of the model is tried' : '; no other is tried';
}

function cellsOf(fault: Fault): string[] {
  return [
    forBoth(fault, resultOf) + untriedOf(fault.json),
    forBoth(fault, ({ charged }) => CHARGES[charged]),
    forBoth(fault, (outcome) => verdictOn(outcome).replace(/^an? /, '')),
  ];
}

function tableOf(faults: readonly Fault[]): string {
  const unknown = SHOWN.filter((words) => !faults.some(({ does }) => does === words));
  if (unknown.length > 0) throw new Error(`no fault is described as ${unknown.join('; ')}`);
  const shown = SHOWN.flatMap((words) => faults.filter(({ does }) => does === words));
  const byResult = Map.groupBy(shown, (fault) => cellsOf(fault).join());
  const rows = [...byResult.values()].map((alike) => [
    alike.map(({ does }) => does).join('; '),
    ...alike.slice(0, 1).flatMap(cellsOf),
  ]);
  return markdownTable(['the provider …', 'callers get', 'charged', 'health'], rows);
}

/** Makes the table in `docs/operate/provider-faults.md` from the faults that the tests simulate. A test compares the file with the result. */
export function failureModesPage(): string {
  return readFileSync(PATH, 'utf8').replace(
    /^(<!-- made: faults -->\n)[\s\S]*?^(<!-- end -->)$/m,
    (_, begin: string, end: string) => `${begin}\n${tableOf(GROUPS.flatMap(({ faults }) => faults))}\n\n${end}`,
  );
}
