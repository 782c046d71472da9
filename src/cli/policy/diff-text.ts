import {
  type ComparedCase,
  type ComparedChoice,
  isRefused,
  type RequestOutcome,
  type Totals,
} from '../../admin/use-cases/policy/compare.ts';
import type { BuiltPolicy, PolicyDifference } from '../../admin/use-cases/policy/diff.ts';
import { changedCases } from '../../admin/use-cases/policy/diff.ts';
import type { ComparedRequests, DifferentRequest } from '../../admin/use-cases/policy/diff-requests.ts';
import { checkCommand } from '../../admin/use-cases/policy/folder-words.ts';
import type { PolicySource } from '../../admin/use-cases/policy/tools.ts';
import { commandName } from '../../core/command-name.ts';
import { type Paint, painter } from '../../core/text/paint.ts';
import { plural } from '../../core/text/text.ts';
import { visible } from '../../core/text/visible.ts';
import { scrub } from '../../host/telemetry/secrets.ts';
import type { PolicyChange, PolicyRename } from '../../policy/runtime/diff.ts';
import { grid, paragraphs } from '../terminal.ts';
import { fromTo, growth, pair, short } from './diff-values.ts';
import { problemsText } from './problems.ts';

/** The most requests that are listed one by one. The sums include all requests. */
const REQUESTS_MAX = 30;

const NOTE =
  'Both policies are compared with their declared figures and with every variable set. Measurements, budgets and balances are not considered.';

/** Writes the difference as text. Names of cases and requests and texts of plugins can contain anything, so secrets are masked. */
export const differenceText = (difference: PolicyDifference, terminal: boolean): string =>
  scrub(unscrubbedText(difference, terminal));

function unscrubbedText({ a, b, changes, renamed, decisions }: PolicyDifference, terminal: boolean): string {
  const paint = painter(terminal);
  const parts = [
    `${paint.strong(visible(`${a.place.label} → ${b.place.label}`))}\n`,
    `${paint.strong('Changed declarations')}\n${changesText(changes, renamed, paint)}`,
    ...[a, b].filter(({ side }) => side === null).map((one) => brokenText(one, terminal)),
  ];
  if (decisions === null) return parts.join('\n');
  const { cases, caseTotals, requests, worth } = decisions;
  const changed = changedCases(cases);
  const inUsd = worth.a !== worth.b;
  const words: Words = { paint, inUsd, from: a.place.label, to: b.place.label };
  const items = [
    ...changed.map((one) => caseText(one, words)),
    ...(requests?.different ?? []).slice(0, REQUESTS_MAX).map((one) => requestText(one, words)),
  ];
  const hidden = requests ? requests.different.length + requests.leftOut - REQUESTS_MAX : 0;
  if (hidden > 0) items.push(`  and ${short(hidden)} more requests, which --json lists\n`);
  const heading = paint.strong('Changed decisions');
  const hasChanges = changes.length > 0;
  if (hasChanges && cases.length === 0 && requests === null) {
    parts.push(`${heading}\n${paragraphs([incomparable(a.place, b.place)], terminal)}`);
    return parts.join('\n');
  }
  const unaffected = unaffectedText(hasChanges, requests !== null);
  parts.push(`${heading}\n${items.length === 0 ? unaffected : items.join('\n')}`);
  if (requests && requests.moves.length > 0) parts.push(movesText(requests, inUsd, terminal));
  parts.push(totalsText(caseTotals, requests?.totals ?? null, inUsd, terminal));
  const broken = cases.filter((one) => one.broken.length > 0).length;
  const worths = `A Credit is worth ${worth.a} USD in ${words.from} and ${worth.b} USD in ${words.to}, so costs are compared in USD.`;
  const usd = inUsd ? [worths] : [];
  parts.push(paragraphs([summary(caseTotals, requests?.totals ?? null, broken, words), ...usd, NOTE], terminal));
  return parts.join('\n');
}

/** The text for two different policies that have no cases, if no file has requests. */
function incomparable(a: PolicySource, b: PolicySource): string {
  const folders = [a, b].map(({ kind, folder }) =>
    kind === 'folder' ? `\`${checkCommand(folder)} --choices\`` : null,
  );
  const tables = folders.some((text) => text === null)
    ? `\`${commandName()} policy check --choices\` of both`
    : folders.join(' and ');
  return visible(
    `Unknown: neither policy has a case, so nothing was compared. Add cases to the policy, or compare requests with --requests FILE. To see what the selectors choose, compare the tables of ${tables}.`,
  );
}

/** The text that is shown if both policies decide all cases and requests in the same way. */
function unaffectedText(isChanged: boolean, hasRequests: boolean): string {
  if (!isChanged) return '  nothing\n';
  const compared = hasRequests ? 'no case and no request of the file' : 'no case';
  return `  nothing: the changes above affect ${compared}. They can still affect other requests: add a case for them${hasRequests ? '' : ', or compare requests with --requests FILE'}.\n`;
}

/** Colours a line according to the sign that it begins with. */
function signed(line: string, { good, error, warning }: Paint): string {
  const paints: Readonly<Record<string, Paint['good']>> = { '+': good, '-': error, '~': warning };
  return paints[line.trimStart().charAt(0)]?.(line) ?? line;
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const;

function changesText(changes: readonly PolicyChange[], renamed: readonly PolicyRename[], paint: Paint): string {
  if (changes.length === 0) return '  nothing\n';
  const sections = Map.groupBy(changes, ({ section }) => section);
  const lines = [...sections].flatMap(([section, found]) =>
    found.flatMap(({ change, name, keys = [] }) => {
      const thing = name === null ? section : `${section}: ${name}`;
      const again = renamed.find((one) => one.section === section && [one.from, one.to].includes(name ?? ''));
      if (again && change === 'removed') {
        return [
          `  ${signed(visible(`~ ${section}: ${again.from} → ${again.to}, renamed, otherwise the same`), paint)}`,
        ];
      }
      if (again && change === 'added') return [];
      const [first, ...more] = keys;
      // A section that is one value, such as `baseline`, has no keys.
      if (first?.key === '' && more.length === 0) {
        return fromTo(thing, first).map((line) => `  ${signed(visible(line), paint)}`);
      }
      const head = visible(`${SIGNS[change]} ${thing}`);
      const inside = keys.flatMap(({ key, ...values }) => fromTo(key, values)).map(visible);
      return [`  ${signed(head, paint)}`, ...inside.map((line) => `      ${signed(line, paint)}`)];
    }),
  );
  return `${lines.join('\n')}\n`;
}

function brokenText({ place, problems, message }: BuiltPolicy, terminal: boolean): string {
  const found = problems.length > 0 ? [problemsText(problems, place.bundle, terminal)] : [];
  const why = message === null ? '' : `: ${message}`;
  return `${[...found, visible(`${place.label} cannot be loaded${why.replace(/\.$/, '')}; its decisions are unknown.`)].join('\n\n')}\n`;
}

interface Words {
  readonly paint: Paint;
  /** Whether costs are compared in USD. */
  readonly inUsd: boolean;
  readonly from: string;
  readonly to: string;
}

function caseText({ case: one, of, isReworded, a, b, broken }: ComparedCase, words: Words): string {
  const { paint, from, to } = words;
  const notes = [
    ...(of === 'both' ? [] : [`only in ${of === 'a' ? from : to}`]),
    ...(isReworded ? [`its request differs in ${to}, and that request is compared`] : []),
    ...(broken.length > 0 ? [`held in ${from}, fails in ${to}`] : []),
  ];
  const head = `case \`${one.name}\` (${one.place.file}:${one.place.line})${notes.map((note) => `; ${note}`).join('')}`;
  const fails = broken.map(({ key, wanted, got }) =>
    paint.error(`- fails    ${visible(`${key}: expected ${wanted}, got ${got}`)}`),
  );
  return itemText(head, a, b, words, fails);
}

function requestText({ name, count, a, b }: DifferentRequest, words: Words): string {
  const times = count === 1 ? '' : `, ${short(count)} times`;
  return itemText(`request ${name}${times}`, a, b, words, []);
}

function itemText(head: string, a: RequestOutcome, b: RequestOutcome, words: Words, more: readonly string[]): string {
  const lines = [`choice   ${goals(a, b)}`, ...figures(a, b, words)].map(visible);
  return `  ${words.paint.strong(visible(head))}\n${[...lines, ...more].map((line) => `    ${line}\n`).join('')}`;
}

/** Names the providers only if they differ. */
function goals(a: RequestOutcome, b: RequestOutcome): string {
  const isMoved = !isRefused(a) && !isRefused(b) && a.model === b.model && a.provider !== b.provider;
  const goal = (one: RequestOutcome) =>
    isRefused(one) ? `refused with ${one.code}` : isMoved ? `${one.model} at ${one.provider}` : one.model;
  return pair(goal(a), goal(b));
}

function figures(a: RequestOutcome, b: RequestOutcome, { inUsd }: Words): string[] {
  const [from, to] = [chosen(a), chosen(b)];
  if (from === null && to === null) return [];
  const of = (read: (one: ComparedChoice) => string, unit = '') =>
    from && to ? `${pair(read(from), read(to))}${unit}` : pair(from && read(from) + unit, to && read(to) + unit);
  const by = (read: (one: ComparedChoice) => number) => (from && to ? growth(read(from), read(to)) : '');
  const usd = `, ${of(({ costUsd }) => short(costUsd), ' USD')}${by(({ costUsd }) => costUsd)}`;
  const refusals = [a, b].filter(isRefused).map(({ message }) => `because  ${message}`);
  return [
    `reason   ${of(({ reason }) => reason)}`,
    `cost     ${of(({ costCredits }) => short(costCredits), ' Credits')}${inUsd ? usd : by(({ costCredits }) => costCredits)}`,
    `latency  ${of(({ latencyMs }) => short(latencyMs), ' ms')}${by(({ latencyMs }) => latencyMs)}`,
    `quality  ${of(({ quality }) => quality.toFixed(3))}`,
    ...refusals,
  ];
}

const chosen = (answer: RequestOutcome): ComparedChoice | null => (isRefused(answer) ? null : answer);

function movesText({ moves }: ComparedRequests, inUsd: boolean, terminal: boolean): string {
  const rows = moves.map(({ a, b, totals }) => [short(totals.requests), visible(goals(a, b)), costs(totals, inUsd)]);
  const head = ['requests', 'go elsewhere', inUsd ? 'USD' : 'Credits'];
  return `${grid([head, ...rows], terminal, (column) => column === 0).join('\n')}\n`;
}

function totalsText(cases: Totals, requests: Totals | null, inUsd: boolean, terminal: boolean): string {
  const row = (name: string, totals: Totals) => {
    const { answered, a, b, refusedA, refusedB } = totals;
    const mean = (from: number, to: number, digits: number) => {
      const exactly = { minimumFractionDigits: digits, maximumFractionDigits: digits };
      const of = (sum: number) => (sum / answered).toLocaleString('en', exactly);
      return answered === 0 ? '' : pair(of(from), of(to));
    };
    return [
      name,
      `${totals.different.toLocaleString('en')} of ${totals.requests.toLocaleString('en')}`,
      pair(refusedA.toLocaleString('en'), refusedB.toLocaleString('en')),
      costs(totals, inUsd),
      mean(a.quality, b.quality, 3),
      mean(a.latencyMs, b.latencyMs, 0),
    ];
  };
  const head = ['in all', 'differ', 'refused', inUsd ? 'USD' : 'Credits', 'mean quality', 'mean ms'];
  const rows = [row('cases', cases), ...(requests ? [row('requests', requests)] : [])];
  return `${grid([head, ...rows], terminal).join('\n')}\n`;
}

/** The costs of the requests that both policies answer. */
function costs({ answered, a, b }: Totals, inUsd: boolean): string {
  if (answered === 0) return '';
  const [from, to] = inUsd ? [a.costUsd, b.costUsd] : [a.costCredits, b.costCredits];
  return `${pair(short(from), short(to))}${growth(from, to)}`;
}

function summary(cases: Totals, requests: Totals | null, broken: number, { from, to }: Words): string {
  const of = ({ different, requests: all }: Totals, what: string) =>
    `${different.toLocaleString('en')} of ${all.toLocaleString('en')} ${what}${all === 1 ? '' : 's'}`;
  const counts = [of(cases, 'case'), ...(requests ? [of(requests, 'request')] : [])].join(' and ');
  const held = `${plural(broken, 'case')} that held in ${from} ${broken === 1 ? 'fails' : 'fail'} in ${to}`;
  return `Decided differently: ${counts}${broken > 0 ? `; ${held}` : ''}.`;
}
