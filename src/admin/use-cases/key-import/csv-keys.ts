import { NO_LIMITS, statedLimits } from '../../../access/terms.ts';
import { readAmount } from '../../../core/money/amount.ts';
import { EXHAUSTED_ACTIONS } from '../../../core/money/budget.ts';
import type { KeyBudget, KeyLimits } from '../../../core/people/caller.ts';
import { parseMoment } from '../../../core/time/clock.ts';
import { UsageError } from '../../../core/usage-error.ts';
import {
  type ForeignKey,
  hashIn,
  hashOfPlain,
  momentIn,
  nextQuarter,
  type ReadingTerms,
  unusable,
} from './foreign-key.ts';

/** The columns of a CSV of keys, with their meaning. An empty cell removes a term; an absent column leaves it unchanged. */
export const CSV_COLUMNS = {
  key: 'The whole key, as applications send it.',
  sha256: 'The SHA-256 of the whole key, in hexadecimal digits or base64. Instead of `key`.',
  name: 'A name for people.',
  budget: 'Budgets in the form of `keys create --budget`, separated by `;`.',
  spent: 'What the key has spent in the window of its only budget, such as `12.50 USD`.',
  resets: 'When that window ends. Needed with `spent`, unless the window is `total`.',
  team: 'ID or name of the team.',
  user: 'ID or email address of the user.',
  models: 'IDs of the models that the key may use, separated by `;`. Empty or `*` for all models.',
  rpm: 'Requests per minute.',
  tpm: 'Tokens per minute.',
  streams: 'Streams that run at the same time.',
  expires: 'When the key expires, such as `2027-02-18` or `2027-02-18T09:30Z`.',
  labels: 'Labels as `name=value`, separated by `;`.',
  suspended: '`true` for a key that is not to work. An import suspends keys and never resumes them.',
} as const;
export type CsvColumn = keyof typeof CSV_COLUMNS;

export type CsvRow = Readonly<Partial<Record<CsvColumn, string>>>;

export const isCsvColumn = (name: string): name is CsvColumn => Object.hasOwn(CSV_COLUMNS, name);

const listIn = (cell: string): readonly string[] =>
  cell
    .split(';')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Reads a row. @throws UnusableRow */
export function csvKey(row: CsvRow, at: string, terms: ReadingTerms): ForeignKey {
  const { name, budget, models, expires, labels, suspended = '', team, user } = row;
  const limits = limitsIn(row);
  if (budget === undefined && (row.spent || row.resets)) unusable('`spent` and `resets` need the column `budget`.');
  return {
    at,
    hash: hashOf(row),
    terms: {
      ...(name !== undefined && { name }),
      ...(models !== undefined && { models: modelsIn(models) }),
      ...(limits !== undefined && { limits }),
      ...(budget !== undefined && { budgets: budgetsIn(row, budget, terms) }),
      ...(expires !== undefined && { expiresAt: expires === '' ? null : momentOf('expires', expires) }),
      ...(labels !== undefined && { labels: labelsIn(labels) }),
    },
    ...(team !== undefined && { team: team || null }),
    ...(user !== undefined && { user: user || null }),
    isSuspended: flagIn(suspended),
    leftOut: [],
  };
}

function hashOf({ key = '', sha256 = '' }: CsvRow): Uint8Array {
  if ((key === '') === (sha256 === '')) unusable('State either `key` or `sha256`.');
  if (key !== '') return hashOfPlain(key);
  return hashIn(sha256) ?? unusable('`sha256` takes 64 hexadecimal digits, or 32 bytes in base64.');
}

function modelsIn(cell: string): readonly string[] | null {
  const models = listIn(cell);
  return models.length === 0 || models.includes('*') ? null : models;
}

const LIMIT_COLUMNS = { rpm: 'requestsPerMinute', tpm: 'tokensPerMinute', streams: 'concurrentStreams' } as const;

/** The limits of a row; undefined if the file has no column of a limit. */
function limitsIn(row: CsvRow): KeyLimits | null | undefined {
  const columns = (['rpm', 'tpm', 'streams'] as const).filter((column) => row[column] !== undefined);
  if (columns.length === 0) return undefined;
  const stated = columns.map((column) => [LIMIT_COLUMNS[column], numberIn(column, row[column] ?? '')]);
  return statedLimits({ ...NO_LIMITS, ...Object.fromEntries(stated) });
}

function numberIn(column: string, cell: string): number | null {
  if (cell === '') return null;
  return /^\d{1,15}$/.test(cell) ? Number(cell) : unusable(`\`${column}\` takes a whole number.`);
}

const momentOf = (column: string, cell: string): number =>
  momentIn(cell) ?? unusable(`\`${column}\` takes a moment such as 2027-02-18 or 2027-02-18T09:30Z.`);

function flagIn(cell: string): boolean {
  if (['true', 'false', ''].includes(cell)) return cell === 'true';
  return unusable('`suspended` takes true or false.');
}

function labelsIn(cell: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    listIn(cell).map((text) => {
      const at = text.indexOf('=');
      return at > 0
        ? [text.slice(0, at), text.slice(at + 1)]
        : unusable('`labels` takes texts such as project=billing.');
    }),
  );
}

/** Reads the budgets of a row. The spend in the window of the only budget is its opening. */
function budgetsIn({ spent = '', resets = '' }: CsvRow, cell: string, terms: ReadingTerms): readonly KeyBudget[] {
  const budgets = listIn(cell).map((text) => budgetIn(text, terms));
  const [budget, ...others] = budgets;
  if (spent === '' && resets === '') return budgets;
  if (!budget || others.length > 0) return unusable('`spent` and `resets` need exactly one budget in `budget`.');
  const end = resets === '' ? null : nextQuarter(momentOf('resets', resets));
  const every = budget.every && end !== null ? { ...budget.every, from: end } : budget.every;
  const amount = spent === '' ? 0 : readAmount(spent, { bare: 'Credits', usdPerCredit: terms.usdPerCredit });
  if (typeof amount !== 'number') return unusable(`\`spent\`: "${spent}" ${amount.problem}`);
  if (amount < 0) return unusable('`spent` must not be negative.');
  if (amount > 0 && end === null && budget.window !== 'total')
    return unusable('`resets` is needed with `spent`: the moment at which the budget begins again.');
  return [{ ...budget, ...(every && { every }), ...(amount > 0 && { opening: { spent: amount, until: end } }) }];
}

/** Reads a budget in the form of the command `keys create`. @throws UnusableRow */
function budgetIn(text: string, { usdPerCredit, now, readBudget }: ReadingTerms): KeyBudget {
  try {
    const stated = readBudget(text, now);
    const { limit_credits: amount, window, every, time_zone: timeZone, on_exhausted: action, until: end } = stated;
    const limit = readAmount(amount, { bare: 'Credits', usdPerCredit });
    if (typeof limit !== 'number') return unusable(`\`budget\`: "${amount}" ${limit.problem}`);
    const until = end === undefined ? null : parseMoment(end);
    const onExhausted = EXHAUSTED_ACTIONS.find((one) => one === action) ?? 'cap';
    const from = every && parseMoment(every.from);
    return {
      ...{ limit, window, timeZone, onExhausted, ...(until !== null && { until }) },
      ...(every && from != null && { every: { seconds: every.seconds, from } }),
    };
  } catch (cause) {
    if (!(cause instanceof UsageError)) throw cause;
    return unusable(`\`budget\`: ${cause.message}`);
  }
}
